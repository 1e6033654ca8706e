#include "rubato/cli/demo/live_demo.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/core.h>

#include "rubato/cli/demo/demo_deadline.h"
#include "rubato/cli/demo/demo_jobs.h"
#include "rubato/cli/demo/demo_screen.h"
#include "rubato/cli/demo/demo_text.h"
#include "rubato/cli/demo/demo_victim.h"
#include "rubato/cli/platform/local_platform.h"
#include "rubato/cli/platform/offered_nodes.h"
#include "rubato/cli/process/exit_code.h"
#include "rubato/cli/process/interrupt_count.h"
#include "rubato/cli/process/verb_failure.h"
#include "rubato/cli/text/job_table.h"
#include "rubato/cli/text/moment_text.h"
#include "rubato/cli/text/terminal.h"
#include "rubato/cli/text/wall_clock.h"
#include "rubato/job/job_directory.h"
#include "rubato/job/worker_environment.h"
#include "rubato/spec/shell_words.h"

namespace rubato {
namespace {

namespace fs = std::filesystem;
using DemoClock = std::chrono::steady_clock;

constexpr int kDemoFailed = 1;
constexpr int kDemoInterrupted = 130;
constexpr auto kDemoPatience = std::chrono::minutes(10);
constexpr auto kEndPatience = std::chrono::seconds(20);
constexpr auto kDemoLook = std::chrono::milliseconds(250);
constexpr auto kKillAgain = std::chrono::seconds(5);  // If the one before had no effect.
constexpr int kFreeEpochs = 2;
constexpr int kFreeSteps = 150;
constexpr double kPromisedWork = 12;  // Seconds of the whole machine for each promised job.
constexpr double kKillFrom = 0.2;     // Of a job's work.
constexpr double kKillAnywayFrom = 0.6;
constexpr int kTextUnit = 10;
constexpr int kSampleSteps = 1000;  // Of a quote that tells how long steps take.

const Caller kDemoCaller{.user = "demo", .role = Role::Admin};

/// The jobs in their order, what happens to them, and what is said about it.
class DemoRun {
 public:
  DemoRun(LocalPlatform& platform, const InterruptCount& signals, DemoPrograms programs,
          DemoMachine machine, std::int64_t prepared_since)
      : platform_(platform),
        signals_(signals),
        programs_(std::move(programs)),
        machine_(machine),
        prepared_since_(prepared_since),
        jobs_directory_(fs::path(platform.state_directory()) / "jobs") {}

  /// True if all came as it should.
  [[nodiscard]] bool play() {
    return begin() && promise("images-by-deadline", images()) &&
           promise("text-by-deadline", text()) && ask_too_much() &&
           submit("always-two-workers", demo_pair(programs_)) && finish();
  }

  /// Ends what still runs; false if something cannot be ended.
  [[nodiscard]] bool clean_up() {
    for (const wire::JobStatus& job : jobs_.jobs()) {
      if (!is_final(job)) {
        (void)platform_.service().cancel(kDemoCaller, job.id());
      }
    }
    const auto give_up = DemoClock::now() + kEndPatience;
    while (processes_below(jobs_directory_) > 0) {
      if (DemoClock::now() >= give_up) {
        kill_below(jobs_directory_);
        failure_ = "processes of jobs had to be killed";
        return false;
      }
      std::this_thread::sleep_for(kDemoLook);
    }
    return true;
  }

  [[nodiscard]] const std::string& failure() const { return failure_; }
  [[nodiscard]] bool is_interrupted() const {
    return signals_.interrupts() > 0 || signals_.is_told_to_end();
  }

 private:
  struct DemoOffer {
    std::function<wire::JobSpec(int steps)> make{};
    int unit = 1;  // Of steps.
  };

  DemoOffer images() {
    return {
        .make = [this](int steps) { return demo_images(programs_, steps / kDemoStepsPerEpoch); },
        .unit = kDemoStepsPerEpoch};
  }
  DemoOffer text() {
    return {.make = [this](int steps) { return demo_text_model(programs_, steps); },
            .unit = kTextUnit};
  }

  // Two jobs without a deadline; by them the platform learns how fast their programs are here.
  bool begin() {
    screen_.say("Two jobs without a deadline take all there is, and are measured on the way.");
    return submit("images-when-free", demo_images(programs_, kFreeEpochs)) && await_measured("1") &&
           submit("text-when-free", demo_text_model(programs_, kFreeSteps)) && await_measured("2");
  }

  bool await_measured(const std::string& id) {
    return wait_until([&] {
      const wire::JobStatus* job = find(id);
      if (job != nullptr && job->has_started()) {
        machine_.start_seconds =
            std::max(machine_.start_seconds,
                     to_seconds(instant_from(job->started()) - instant_from(job->submitted())));
      }
      return job != nullptr && job->state() != "PROFILING";
    });
  }

  bool finish() {
    const bool is_over = wait_until([&] { return std::ranges::all_of(jobs_.jobs(), is_final); });
    screen_.clear();
    if (!is_over) {
      return false;
    }
    const PromiseCount promises = count_promises(jobs_);
    const auto has_failed = [](const wire::JobStatus& job) {
      return job.state() != "SUCCEEDED" && job.spec().name() != "impossible";
    };
    fmt::print("\n{}\n", promise_table(jobs_));
    return check(promises.kept == 2 && promises.broken == 0, "a promise was broken") &&
           check(std::ranges::none_of(jobs_.jobs(), has_failed), "a job failed") &&
           check(is_kill_seen_, "no worker was killed");
  }

  bool check(bool holds, const std::string& otherwise) {
    if (!holds) {
      failure_ = otherwise;
    }
    return holds;
  }

  bool submit(const std::string& name, wire::JobSpec spec) {
    spec.set_name(name);
    const auto reply = platform_.service().submit(kDemoCaller, spec, "");
    if (const auto* refusal = std::get_if<Refusal>(&reply)) {
      return check(false, refusal->message);
    }
    return check(std::get<wire::SubmitReply>(reply).job().state() != "REJECTED",
                 "the platform refused " + name + ", whose deadline it had quoted");
  }

  // What the platform could promise now; nothing if it does not say.
  std::optional<DemoQuote> quote(wire::JobSpec spec) {
    spec.set_deadline("1d");
    const auto reply = platform_.service().quote(kDemoCaller, spec);
    const auto* quote = std::get_if<wire::QuoteReply>(&reply);
    if (quote == nullptr || !quote->has_earliest()) {
      return std::nullopt;
    }
    const double seconds = to_seconds(instant_from(quote->earliest()) - local_wall_clock().now);
    return DemoQuote{.steps = spec.steps(), .earliest_seconds = seconds};
  }

  bool promise(const std::string& name, const DemoOffer& offer) {
    const auto sample = quote(offer.make(kSampleSteps));
    if (!check(sample.has_value(), "the platform has no quote for " + name)) {
      return false;
    }
    wire::JobSpec spec = offer.make(steps_for(*sample, kPromisedWork, offer.unit));
    const auto asked = quote(spec);
    if (!check(asked.has_value(), "the platform has no quote for " + name)) {
      return false;
    }
    const double deadline = generous_deadline(*asked, machine_);
    screen_.say(
        fmt::format("{:>22}  {:.0f} steps: the earliest that could be promised is {:.0f} s; we ask "
                    "for {:.0f} s",
                    name, spec.steps(), asked->earliest_seconds, deadline));
    spec.set_deadline(fmt::format("{:.0f}s", deadline));
    return submit(name, spec) && look();
  }

  // As a user would, with the command line: it shows the counter-offers and returns 80.
  bool ask_too_much() {
    const wire::JobSpec spec = text().make(kFreeSteps);
    const auto asked = quote(spec);
    if (!check(asked.has_value(), "the platform has no quote for text")) {
      return false;
    }
    std::vector<std::string> words{
        "rubato",     "run",
        "--name",     "impossible",
        "--steps",    fmt::format("{:.0f}", spec.steps()),
        "--deadline", fmt::format("{:.0f}s", impossible_deadline(*asked)),
        "--model",    spec.model(),
        "--batch",    std::to_string(spec.batch()),
        "--"};
    words.insert(words.end(), spec.command().begin(), spec.command().end());
    screen_.say("\n$ " + shell_text(words));
    words.front() = own_program();
    words.insert(words.begin() + 2, {"--server", platform_.url()});
    const auto [code, said] = shell(shell_text(words) + " 2>&1");
    screen_.say(fmt::format("{}exit code {}\n", said, code));
    return check(code == kExitRefused && said.find("--deadline") != std::string::npos,
                 "an impossible deadline was not refused with counter-offers") &&
           look();
  }

  static std::pair<int, std::string> shell(const std::string& command) {
    std::string said;
    FILE* pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) {
      return {kExitBug, said};
    }
    std::array<char, 1024> buffer{};
    while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
      said.append(buffer.data(), count);
    }
    const int status = ::pclose(pipe);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : kExitBug, said};
  }

  bool wait_until(const std::function<bool()>& is_so) {
    while (look()) {
      if (is_so()) {
        return true;
      }
      std::this_thread::sleep_for(kDemoLook);
    }
    return false;
  }

  // One look at all jobs; false if it is time to stop.
  bool look() {
    if (is_interrupted() || DemoClock::now() - began_ > kDemoPatience) {
      return check(false, is_interrupted() ? "interrupted" : "some jobs did not end");
    }
    const auto list = platform_.service().jobs(kDemoCaller, {});
    const auto* jobs = std::get_if<wire::JobList>(&list);
    if (jobs == nullptr) {
      return check(false, std::get<Refusal>(list).message);
    }
    for (int i = jobs->jobs_size() - 1; i >= 0; --i) {
      tell(jobs->jobs(i));
    }
    jobs_ = *jobs;
    disturb();
    screen_.show(demo_table(jobs_, local_wall_clock().now, shows_colour()));
    return true;
  }

  void tell(const wire::JobStatus& job) {
    const wire::JobStatus* before = find(job.id());
    const std::string text = before == nullptr ? job.state() : demo_change(*before, job);
    if (!text.empty()) {
      say_of(job, text);
    }
    if (!has_trained_ && job.steps_done() > 0) {
      has_trained_ = true;
      say_time_to_first_step();
    }
    // One that only waited would not be missed.
    const bool is_missed = job.restarts() > victim_.restarts() ||
                           (job.workers() < victim_.workers() && !is_final(job));
    is_kill_seen_ = is_kill_seen_ || (job.id() == victim_.id() && is_missed);
  }

  void say_time_to_first_step() {
    if (prepared_since_ == 0) {
      return;
    }
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const double seconds = std::chrono::duration<double>(now).count();
    screen_.say(fmt::format("The first training step, {:.0f} s after everything began.",
                            seconds - static_cast<double>(prepared_since_)));
  }

  void say_of(const wire::JobStatus& job, const std::string& text) {
    const double seconds = std::chrono::duration<double>(DemoClock::now() - began_).count();
    screen_.say(fmt::format("{:>4.0f} s  {:<20}  {}", seconds, job.spec().name(), text));
  }

  // One worker of a promised job dies as soon as the job has got going, preferably of several.
  void disturb() {
    if (is_kill_seen_ || DemoClock::now() < next_kill_) {
      return;
    }
    for (const wire::JobStatus& job : jobs_.jobs()) {
      const double done = job.steps_done() / std::max(1.0, job.steps_total());
      const bool is_due = done >= (job.workers() >= 2 ? kKillFrom : kKillAnywayFrom);
      if (!job.has_promised() || is_final(job) || job.workers() == 0 || !is_due) {
        continue;
      }
      if (const auto pid = busiest_worker(jobs_directory_ / job.id(), job.spec())) {
        victim_ = job;
        next_kill_ = DemoClock::now() + kKillAgain;
        ::kill(*pid, SIGKILL);
        say_of(job, job.workers() == 1
                        ? fmt::format("kill -9 {}: its only worker", *pid)
                        : fmt::format("kill -9 {}: one of its {} workers", *pid, job.workers()));
        return;
      }
    }
  }

  [[nodiscard]] const wire::JobStatus* find(const std::string& id) const {
    const auto found = std::ranges::find(jobs_.jobs(), id, &wire::JobStatus::id);
    return found == jobs_.jobs().end() ? nullptr : &*found;
  }

  LocalPlatform& platform_;
  const InterruptCount& signals_;
  DemoPrograms programs_;
  DemoMachine machine_;
  std::int64_t prepared_since_;
  bool has_trained_ = false;
  fs::path jobs_directory_;
  DemoScreen screen_{::isatty(STDOUT_FILENO) == 1};
  DemoClock::time_point began_ = DemoClock::now();
  wire::JobList jobs_;
  wire::JobStatus victim_;  // As it was when one of its workers was killed.
  DemoClock::time_point next_kill_{};
  bool is_kill_seen_ = false;
  std::string failure_;
};

/// What the demonstration came to.
struct DemoOutcome {
  int code = kExitOk;
  std::string failure{};
  std::string folder{};  // Must be gone by now.
};

DemoOutcome play_demo(const LiveDemoOptions& options, const DemoPrograms& programs) {
  const InterruptCount signals;
  std::error_code failure;
  const auto folder = JobDirectory::open("", fs::temp_directory_path(failure));
  if (!folder) {
    return {.code = fail_verb("demo", folder.error())};
  }
  auto platform =
      LocalPlatform::start({.state_directory = folder->path(), .port = 0, .slots = options.slots});
  if (!platform) {
    return {.code = fail_verb("demo", platform.error()), .folder = folder->path()};
  }
  const DemoMachine machine{.slots = options.slots, .processors = cpus_here()};
  fmt::print("rubato {} with {} slots on {} processors at {}\n", RUBATO_VERSION, machine.slots,
             machine.processors, (*platform)->url());
  DemoRun run(**platform, signals, programs, machine, options.began);
  const bool is_good = run.play();
  const bool is_clean = run.clean_up();
  return {.code = run.is_interrupted()  ? kDemoInterrupted
                  : is_good && is_clean ? kExitOk
                                        : kDemoFailed,
          .failure = run.failure(),
          .folder = folder->path()};
}

}  // namespace

int run_live_demo(const LiveDemoOptions& options) {
  const auto programs = find_demo_programs(options.examples);
  if (!programs) {
    return fail_verb("demo", programs.error());
  }
  DemoOutcome outcome = play_demo(options, *programs);
  std::error_code failure;
  if (!outcome.folder.empty() && fs::exists(outcome.folder, failure) && outcome.code == kExitOk) {
    outcome.code = kDemoFailed;
    outcome.failure = outcome.folder + " is left behind";
  }
  if (outcome.code == kExitOk) {
    fmt::print(
        "Every promise was kept, with a worker killed on the way. No process and no file is "
        "left.\n");
  } else if (!outcome.failure.empty()) {
    fmt::print(stderr, "rubato demo: {}\n", outcome.failure);
  }
  return outcome.code;
}

}  // namespace rubato
