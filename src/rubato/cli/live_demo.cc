#include "rubato/cli/live_demo.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/core.h>

#include "rubato/cli/exit_code.h"
#include "rubato/cli/job_directory.h"
#include "rubato/cli/job_table.h"
#include "rubato/cli/local_platform.h"
#include "rubato/cli/verb_failure.h"

namespace rubato {
namespace {

namespace fs = std::filesystem;

constexpr int kBroken = 1;  // Exit code if a promise was broken.
constexpr auto kPatience = std::chrono::minutes(10);
constexpr double kKillAfterSteps = 30;  // Of the job that loses a worker.

struct DemoJob {
  std::string name{};
  std::vector<std::string> command{};
  double steps = 0;
  std::string deadline{};
  int workers = 0;  // Exactly so many; zero: any number.
  std::string model{};
};

std::vector<DemoJob> demo_jobs_in(const std::string& examples) {
  const auto python = [&](const std::string& program, const std::string& flag,
                          const std::string& value) {
    return std::vector<std::string>{"/usr/bin/python3", examples + "/" + program + "/train.py",
                                    flag, value};
  };
  return {
      {.name = "images-by-deadline",
       .command = python("fashion_mnist", "--epochs", "2"),
       .steps = 470,
       .deadline = "110s",
       .model = "fashion_mnist"},
      {.name = "text-by-deadline",
       .command = python("dictionary_lm", "--steps", "120"),
       .steps = 120,
       .deadline = "120s",
       .model = "dictionary_lm"},
      {.name = "images-when-free",
       .command = python("fashion_mnist_sdk", "--epochs", "1"),
       .steps = 235,
       .model = "fashion_mnist_sdk"},
      {.name = "text-when-free",
       .command = python("dictionary_lm", "--steps", "60"),
       .steps = 60,
       .model = "dictionary_lm_short"},
      {.name = "always-two-workers",
       .command = python("fashion_mnist_sdk", "--epochs", "1"),
       .steps = 235,
       .workers = 2,
       .model = "fashion_mnist_pair"},
  };
}

// Its speed is declared, so that it is answered at once.
wire::JobSpec impossible_job() {
  wire::JobSpec spec;
  spec.set_name("impossible");
  spec.set_kind("emulated");
  spec.set_steps(100'000);
  spec.set_deadline("20s");
  wire::SpeedPoint& point = *spec.add_speeds();
  point.set_workers(1);
  point.set_steps_per_second(10);
  return spec;
}

wire::JobSpec spec_of(const DemoJob& job) {
  wire::JobSpec spec;
  spec.set_name(job.name);
  spec.mutable_command()->Assign(job.command.begin(), job.command.end());
  spec.set_steps(job.steps);
  spec.set_deadline(job.deadline);
  spec.set_model(job.model);
  if (job.workers > 0) {
    spec.mutable_workers()->add_listed(job.workers);
  }
  return spec;
}

// A worker process of a job, found by what its environment says.
std::optional<pid_t> worker_of(const std::string& job) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    if (!std::ranges::all_of(name, [](char each) { return each >= '0' && each <= '9'; })) {
      continue;
    }
    std::ifstream file(entry.path() / "environ");
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    if (text.find("RUBATO_WORKER=") != std::string::npos &&
        ('\0' + text).find('\0' + ("RUBATO_JOB_ID=" + job) + '\0') != std::string::npos) {
      return static_cast<pid_t>(std::stoi(name));
    }
  }
  return std::nullopt;
}

const Caller kDemoCaller{.user = "demo", .role = Role::Admin};

/// Follows the jobs until all are over.
class DemoRun {
 public:
  explicit DemoRun(Service& service) : service_(service) {}

  [[nodiscard]] bool follow() {
    const auto give_up = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < give_up) {
      const auto list = service_.jobs(kDemoCaller, {});
      if (const auto* jobs = std::get_if<wire::JobList>(&list)) {
        show(*jobs);
        disturb(*jobs);
        if (std::ranges::all_of(jobs->jobs(), is_final)) {
          last_ = *jobs;
          return true;
        }
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
    return false;
  }

  [[nodiscard]] const wire::JobList& jobs() const { return last_; }
  [[nodiscard]] bool has_killed() const { return has_killed_; }

 private:
  static WallClock clock() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return {.now = Instant{std::chrono::duration_cast<Duration>(now)}};
  }

  void show(const wire::JobList& list) {
    for (int i = list.jobs_size() - 1; i >= 0; --i) {
      const wire::JobStatus& job = list.jobs(i);
      const auto seen = seen_.find(job.id());
      const std::string line = seen == seen_.end() ? fmt::format("job {} {}", job.id(), job.state())
                                                   : job_change_line(seen->second, job, clock());
      if (!line.empty()) {
        fmt::print("{:<20} {}\n", job.spec().name(), line);
      }
      seen_[job.id()] = job;
    }
    (void)std::fflush(stdout);
  }

  // One worker of the first job dies as soon as it has got going.
  void disturb(const wire::JobList& list) {
    for (const wire::JobStatus& job : list.jobs()) {
      if (has_killed_ || job.id() != "1" || job.steps_done() < kKillAfterSteps || is_final(job)) {
        continue;
      }
      if (const auto pid = worker_of(job.id())) {
        ::kill(*pid, SIGKILL);
        has_killed_ = true;
        fmt::print("{:<20} process {} killed with -9\n", job.spec().name(), *pid);
      }
    }
  }

  Service& service_;
  std::map<std::string, wire::JobStatus> seen_;
  wire::JobList last_;
  bool has_killed_ = false;
};

double seconds_between(const google::protobuf::Timestamp& from,
                       const google::protobuf::Timestamp& to) {
  return static_cast<double>(to.seconds() - from.seconds()) +
         static_cast<double>(to.nanos() - from.nanos()) / 1e9;
}

// The table of promises; true if all of them were kept.
bool print_promises(const wire::JobList& list) {
  bool is_kept = true;
  fmt::print("\n{:<20} {:<10} {:>10} {:>9}  {}\n", "job", "state", "promised s", "actual s", "");
  for (int i = list.jobs_size() - 1; i >= 0; --i) {
    const wire::JobStatus& job = list.jobs(i);
    const bool is_promised = job.has_promised();
    const bool is_good = job.state() == "SUCCEEDED" && !job.missed();
    is_kept = is_kept && (is_promised ? is_good : job.state() != "FAILED");
    fmt::print(
        "{:<20} {:<10} {:>10} {:>9.1f}  {}\n", job.spec().name(), job.state(),
        is_promised ? fmt::format("{:.1f}", seconds_between(job.submitted(), job.promised())) : "-",
        job.has_finished() ? seconds_between(job.submitted(), job.finished()) : 0,
        is_promised ? (is_good ? "kept" : "BROKEN") : job.message());
  }
  return is_kept;
}

}  // namespace

int run_live_demo(const LiveDemoOptions& options) {
  std::error_code failure;
  const auto folder = JobDirectory::open("", fs::temp_directory_path(failure));
  if (!folder) {
    return fail_verb("demo", folder.error());
  }
  auto platform =
      LocalPlatform::start({.state_directory = folder->path(), .port = 0, .slots = options.slots});
  if (!platform) {
    return fail_verb("demo", platform.error());
  }
  Service& service = (*platform)->service();
  fmt::print("the platform listens on {} with {} slots\n\n", (*platform)->url(), options.slots);
  std::vector<wire::JobSpec> specs;
  const std::string examples = fs::absolute(options.examples, failure);
  for (const DemoJob& job : demo_jobs_in(examples)) {
    specs.push_back(spec_of(job));
  }
  specs.push_back(impossible_job());
  for (const wire::JobSpec& spec : specs) {
    const auto reply = service.submit(kDemoCaller, spec, "");
    if (const auto* refusal = std::get_if<Refusal>(&reply)) {
      return fail_verb("demo", {.message = refusal->message});
    }
  }
  DemoRun run(service);
  const bool is_over = run.follow();
  const bool is_kept = print_promises(run.jobs());
  if (!is_over || !is_kept || !run.has_killed()) {
    fmt::print(stderr, "rubato demo: {}\n",
               !is_over   ? "some jobs did not end"
               : !is_kept ? "a promise was broken"
                          : "no worker was killed");
    return kBroken;
  }
  fmt::print("\nevery promise was kept, with a worker killed on the way\n");
  return kExitOk;
}

}  // namespace rubato
