#include "rubato/job/emulated_crew.h"

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "rubato/job/emulated_training.h"

namespace rubato {
namespace {

std::string variable_of(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string{} : found->second;
}

// What a process would read from its environment.
WorkerAddress address_of(const WorkerStart& start) {
  return {.socket = variable_of(start.environment, "RUBATO_CONDUCTOR"),
          .worker = start.worker.value,
          .token = std::stoull(variable_of(start.environment, "RUBATO_TOKEN")),
          .host = variable_of(start.environment, "RUBATO_HOST")};
}

}  // namespace

/// One worker and its thread.
class EmulatedCrew::Member {
 public:
  Member(WorkerAddress address, std::uint64_t steps, EmulatedPace& pace, int bell)
      : address_(std::move(address)), steps_(steps), pace_(pace), bell_(bell) {
    thread_ = std::jthread([this] { run(); });
  }

  void kill(int signal) {
    const std::scoped_lock lock(mutex_);
    signals_.push_back(signal);
    killed_by_ = killed_by_ == 0 ? signal : killed_by_;
    if (worker_ != nullptr) {
      worker_->abandon();
    }
    killed_.notify_all();
  }

  [[nodiscard]] bool is_over() const { return is_over_; }

  /// Only once it is over.
  [[nodiscard]] ExitCause cause() const {
    ExitStatus status{.signal = killed_by_};
    if (killed_by_ == 0 && !result_.ok()) {
      status.code = kJobExitFailed;
    }
    return exit_cause(status, result_.ok() ? "" : result_.error().message,
                      {.signals_sent = signals_});
  }

 private:
  void run() {
    result_ = train();
    is_over_ = true;
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(bell_, &one, sizeof(one));
  }

  Status train() {
    EmulatedState state;
    auto worker = join_emulated(address_, state);
    if (!worker) {
      return worker.error();
    }
    if (!reveal(worker->get())) {
      return Error{.code = ErrorCode::Io, .message = "killed"};
    }
    (*worker)->warm();
    Status trained = train_emulated(
        **worker, steps_, pace_,
        [this](EmulatedPace::Clock::time_point moment) { return sleep_until(moment); });
    [[maybe_unused]] const bool is_killed = !reveal(nullptr);
    return trained;
  }

  // Shows kill() the worker, or hides it again; false if it came first.
  bool reveal(ElasticWorker* worker) {
    const std::scoped_lock lock(mutex_);
    worker_ = worker;
    return killed_by_ == 0;
  }

  bool sleep_until(EmulatedPace::Clock::time_point moment) {
    std::unique_lock lock(mutex_);
    return !killed_.wait_until(lock, moment, [this] { return killed_by_ != 0; });
  }

  WorkerAddress address_;
  std::uint64_t steps_;
  EmulatedPace& pace_;
  int bell_;
  std::mutex mutex_{};
  std::condition_variable killed_{};
  ElasticWorker* worker_ = nullptr;  // While it trains.
  int killed_by_ = 0;
  std::vector<int> signals_{};
  Status result_ = ok_status();
  std::atomic<bool> is_over_ = false;
  std::jthread thread_{};  // Last: it uses all of the above.
};

EmulatedCrew::EmulatedCrew(EmulatedCrewOptions options, Descriptor bell)
    : steps_(options.steps),
      pace_(std::move(options.speeds), options.pause, options.began),
      bell_(std::move(bell)) {}

EmulatedCrew::~EmulatedCrew() {
  for (auto& [id, member] : members_) {
    member->kill(SIGKILL);
  }
}

Result<std::unique_ptr<EmulatedCrew>> EmulatedCrew::open(EmulatedCrewOptions options) {
  Descriptor bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!bell.is_open()) {
    return Error{.code = ErrorCode::Io, .message = "no event descriptor for emulated workers"};
  }
  return std::unique_ptr<EmulatedCrew>(
      new EmulatedCrew(std::move(options), std::move(bell)));  // NOLINT: private constructor
}

Status EmulatedCrew::start(const WorkerStart& start) {
  if (members_.contains(start.worker)) {
    return bad_input(fmt::format("worker {} runs already", start.worker.value));
  }
  try {
    members_.emplace(start.worker,
                     std::make_unique<Member>(address_of(start), steps_, pace_, bell_.get()));
  } catch (const std::exception& problem) {
    return Error{.code = ErrorCode::Io,
                 .message = fmt::format("no thread for an emulated worker: {}", problem.what())};
  }
  return ok_status();
}

Status EmulatedCrew::signal(WorkerId worker, int signal) {
  const auto found = members_.find(worker);
  if (found == members_.end()) {
    return Error{.code = ErrorCode::NotFound,
                 .message = fmt::format("worker {} does not run", worker.value)};
  }
  if (signal == SIGKILL || signal == SIGTERM) {
    found->second->kill(signal);
  }
  return ok_status();
}

std::vector<WorkerEnd> EmulatedCrew::ended() {
  std::uint64_t rung = 0;
  [[maybe_unused]] const ssize_t got = ::read(bell_.get(), &rung, sizeof(rung));
  std::vector<WorkerEnd> ends;
  for (auto each = members_.begin(); each != members_.end();) {
    if (each->second->is_over()) {
      ends.push_back({.worker = each->first, .cause = each->second->cause()});
      each = members_.erase(each);
    } else {
      ++each;
    }
  }
  return ends;
}

}  // namespace rubato
