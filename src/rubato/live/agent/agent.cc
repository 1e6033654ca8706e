#include "rubato/live/agent/agent.h"

#include <algorithm>
#include <filesystem>
#include <poll.h>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "rubato/launch/metrics/job_metrics.h"
#include "rubato/live/agent/leftovers.h"

namespace rubato {
namespace {

namespace fs = std::filesystem;

// How soon we look again for a process that has not opened its line, or has closed it.
constexpr std::chrono::milliseconds kLookAgain{20};
constexpr std::chrono::milliseconds kCalm{500};

// Names of jobs become names of directories.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name.size() <= 100 && name.front() != '.' &&
         std::ranges::all_of(name, [](char letter) {
           return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                  (letter >= '0' && letter <= '9') || letter == '-' || letter == '_' ||
                  letter == '.';
         });
}

std::string job_of(const wire::ToAgent& message) {
  switch (message.kind_case()) {
    case wire::ToAgent::kRun:
      return message.run().job();
    case wire::ToAgent::kStop:
      return message.stop().job();
    case wire::ToAgent::kForget:
      return message.forget().job();
    default:
      return "";
  }
}

wire::JobEnded lost_end(const wire::ConductOrder& order, const ConductFiles& files) {
  wire::JobEnded ended;
  ended.set_job(order.run().job());
  ended.set_order(order.run().order());
  ended.set_outcome("lost");
  ended.set_cause("lost");
  ended.set_detail("the process that conducted the job was killed");
  ended.set_done(static_cast<double>(files.newest_snapshot_step()));
  return ended;
}

}  // namespace

Agent::Agent(AgentOptions options, AgentListener listener, Descriptor wake)
    : options_(std::move(options)),
      listener_(std::move(listener)),
      wake_(std::move(wake)),
      book_(options_.offer) {}

Result<std::unique_ptr<Agent>> Agent::open(AgentOptions options, AgentListener listener) {
  std::error_code failure;
  options.directory = fs::absolute(options.directory, failure).string();
  if (!options.shared.empty()) {
    options.shared = fs::absolute(options.shared, failure).string();
  }
  fs::create_directories(options.directory, failure);
  if (failure) {
    return Error{.code = ErrorCode::Io,
                 .message = fmt::format("cannot use {}: {}", options.directory, failure.message())};
  }
  Descriptor wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.is_open()) {
    return Error{.code = ErrorCode::Io, .message = "no event descriptor for the agent"};
  }
  std::unique_ptr<Agent> agent(
      new Agent(std::move(options), std::move(listener), std::move(wake)));  // NOLINT: private
  agent->find_jobs();
  agent->thread_ =
      std::jthread([raw = agent.get()](const std::stop_token& stop) { raw->run(stop); });
  return agent;
}

Agent::~Agent() {
  thread_.request_stop();
  ring();
}

void Agent::ring() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof(one));
}

void Agent::send(const wire::ToAgent& message) {
  {
    const std::scoped_lock lock(mutex_);
    messages_.push_back(message);
  }
  ring();
}

void Agent::greet() {
  {
    const std::scoped_lock lock(mutex_);
    hello_pending_ = true;
  }
  ring();
}

ConductFiles Agent::files_of(const std::string& job) const {
  return ConductFiles(options_.directory + "/" + job);
}

void Agent::find_jobs() {
  std::error_code failure;
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(options_.directory, failure)) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  for (const std::string& name : names) {
    find_job(name);
  }
}

void Agent::find_job(const std::string& name) {
  const ConductFiles files = files_of(name);
  const auto order = files.read_order();
  if (!order || order->run().job() != name) {
    return;
  }
  const bool is_conducted = !files.try_lock();
  const auto ended = files.read_ended();
  const auto forgotten = files.read_forgotten();
  if (!is_conducted && ended) {
    book_.find_ended(*order, *ended, false);
  } else if (!is_conducted && forgotten) {
    if (can_go_on(*forgotten)) {
      book_.find_ended(*order, *forgotten, true);
    }
  } else {
    book_.find_running(*order);  // Whether it does is found out like for all others.
    conducts_.emplace(name, ConductProcess(files));
  }
}

void Agent::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    take_messages();
    std::vector<std::string> running;
    for (const auto& [job, process] : conducts_) {
      running.push_back(job);
    }
    for (const std::string& job : running) {
      poll_supervisor(job);
    }
    send_heartbeat();
    wait();
  }
}

void Agent::wait() {
  std::vector<pollfd> ready{{.fd = wake_.get(), .events = POLLIN, .revents = 0}};
  bool is_calm = true;
  for (const auto& [job, process] : conducts_) {
    if (const auto line = process.descriptor()) {
      ready.push_back({.fd = *line, .events = POLLIN, .revents = 0});
    } else {
      is_calm = false;
    }
  }
  ::poll(ready.data(), ready.size(), static_cast<int>((is_calm ? kCalm : kLookAgain).count()));
  std::uint64_t rung = 0;
  [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &rung, sizeof(rung));
}

void Agent::take_messages() {
  std::vector<wire::ToAgent> messages;
  bool is_to_greet = false;
  {
    const std::scoped_lock lock(mutex_);
    messages = std::exchange(messages_, {});
    is_to_greet = std::exchange(hello_pending_, false);
  }
  if (is_to_greet) {
    carry_out(book_.hello());
  }
  for (const wire::ToAgent& message : messages) {
    if (message.has_greet()) {
      carry_out(book_.hello());
    } else if (is_plain_name(job_of(message))) {
      carry_out(book_.take(message));
    }
  }
}

void Agent::poll_supervisor(const std::string& job) {
  ConductProcess& process = conducts_.at(job);
  if (process.connect()) {
    carry_out(book_.on_connected(job));
  }
  for (const wire::FromAgent& word : process.receive()) {
    carry_out(book_.on_word(job, word));
  }
  if (process.is_gone()) {
    report_supervisor_exit(job);
  }
}

// Nobody conducts the job: says how it ended, once all that it started has ended too.
void Agent::report_supervisor_exit(const std::string& job) {
  const ConductFiles files = files_of(job);
  auto ended = files.read_ended();
  if (!ended) {
    if (!end_leftovers(files.directory())) {
      return;
    }
    const auto order = files.read_order();
    ended = lost_end(order ? *order : wire::ConductOrder{}, files);
    ended->set_job(job);
    if (files.is_disk_full()) {
      ended->set_outcome("requeue");  // No loss to be counted: it ends when there is room again.
      ended->set_detail("the disk is full");
    }
    [[maybe_unused]] const Status written = files.write_ended(*ended);  // Made again if need be.
  }
  conducts_.erase(job);
  carry_out(book_.on_ended(*ended));
}

void Agent::send_heartbeat() {
  const auto moment = Clock::now();
  if (moment >= next_alive_) {
    next_alive_ = moment + options_.alive;
    wire::FromAgent message;
    message.mutable_alive()->set_count(++alive_count_);
    listener_(message);
  }
  if (moment >= next_resend_) {
    next_resend_ = moment + options_.resend;
    carry_out(book_.resend());
  }
}

void Agent::keep(const wire::ConductOrder& order) {
  const ConductFiles files = files_of(order.run().job());
  Status kept = options_.shared.empty()
                    ? ok_status()
                    : files.keep_state_in(options_.shared + "/" + order.run().job());
  if (kept) {
    kept = files.prepare();
  }
  if (kept) {
    kept = files.write_order(order);
  }
  if (!kept && !conducts_.contains(order.run().job())) {
    fail(order, kept.error());
  }
}

void Agent::tell_metrics(const std::string& job) {
  launch::metrics::MetricSeries series;
  if (!launch::metrics::read_metrics(files_of(job).metrics(), series)) {
    return;
  }
  std::uint64_t told = 0;
  wire::FromAgent message;
  do {
    message.mutable_metrics()->Clear();
    message.mutable_metrics()->set_job(job);
    told = launch::metrics::fill_message(series, told, *message.mutable_metrics());
    if (message.metrics().points_size() > 0) {
      listener_(message);
    }
  } while (message.metrics().points_size() > 0);
}

void Agent::start(const std::string& job) {
  if (!book_.is_running(job)) {
    return;  // Its order could not be kept.
  }
  ConductProcess& process = conducts_.emplace(job, ConductProcess(files_of(job))).first->second;
  if (Status started = process.start(options_.program); !started) {
    conducts_.erase(job);
    const auto order = files_of(job).read_order();
    fail(order ? *order : wire::ConductOrder{}, started.error());
  }
}

// A full disk is no fault of the job: it is to be tried again.
void Agent::fail(const wire::ConductOrder& order, const Error& error) {
  const std::string& job = order.run().job();
  wire::JobEnded ended;
  ended.set_job(job);
  ended.set_order(order.run().order());
  ended.set_outcome(files_of(job).is_disk_full() ? "requeue" : "failed");
  ended.set_exit_code(1);
  ended.set_cause("lost");
  ended.set_detail(error.message);
  ended.set_done(static_cast<double>(files_of(job).newest_snapshot_step()));
  carry_out(book_.on_ended(ended));
}

void Agent::carry_out(const AgentActions& actions) {
  for (const AgentAction& action : actions) {
    if (const auto* told = std::get_if<TellController>(&action)) {
      listener_(told->message);
    } else if (const auto* order = std::get_if<KeepConductOrder>(&action)) {
      keep(order->order);
    } else if (const auto* started = std::get_if<StartConduct>(&action)) {
      start(started->job);
    } else if (const auto* word = std::get_if<TellConduct>(&action)) {
      if (const auto found = conducts_.find(word->job); found != conducts_.end()) {
        found->second.tell(word->message);  // Told again on the next line if there is none now.
      }
    } else if (const auto* metrics = std::get_if<TellMetrics>(&action)) {
      tell_metrics(metrics->job);
    } else if (const auto* end = std::get_if<KeepJobEnd>(&action)) {
      [[maybe_unused]] const Status kept = files_of(end->ended.job()).write_ended(end->ended);
    } else {
      const auto& forgotten = std::get<ForgetJob>(action);
      files_of(forgotten.job).forget(forgotten.keeps_state);
    }
  }
}

}  // namespace rubato
