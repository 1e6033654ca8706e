#include "rubato/launch/restarted_job.h"

#include <algorithm>
#include <csignal>
#include <poll.h>
#include <sys/socket.h>
#include <utility>

#include <fmt/format.h>
#include <netinet/in.h>

#include "rubato/launch/torchrun_environment.h"
#include "rubato/wire/descriptor.h"

namespace rubato {
namespace {

// A port that nobody listens on now, for the workers to meet at.
int free_port() {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);  // NOLINT: the sockets interface
  RUBATO_CHECK(socket.is_open() && ::bind(socket.get(), generic, length) == 0 &&
               ::getsockname(socket.get(), generic, &length) == 0);
  return ntohs(address.sin_port);
}

}  // namespace

RestartedJob::RestartedJob(RestartedJobOptions options, Launcher& launcher)
    : options_(std::move(options)),
      launcher_(launcher),
      began_(Clock::now()),
      target_(options_.workers) {
  start_all("start");
}

Duration RestartedJob::elapsed() const {
  return std::chrono::duration_cast<Duration>(Clock::now() - began_);
}

void RestartedJob::start_all(const std::string& cause) {
  phase_ = Phase::Running;
  has_failed_ = false;
  wants_requeue_ = false;
  const int port = free_port();
  GenerationRecord record{.number = static_cast<std::uint64_t>(restarts_) + 1,
                          .cause = cause,
                          .ordered = elapsed(),
                          .published = elapsed()};
  for (int rank = 0; rank < target_; ++rank) {
    const WorkerId worker{next_worker_++};
    const Environment torchrun = torchrun_environment({.rank = rank,
                                                       .local_rank = rank,
                                                       .world_size = target_,
                                                       .local_world_size = target_,
                                                       .master_port = port,
                                                       .run_id = options_.run_id,
                                                       .restart_count = restarts_,
                                                       .restarts_max = options_.restarts_max});
    Environment environment = overridden(options_.environment, torchrun);
    if (options_.on_start) {
      environment = overridden(std::move(environment), options_.on_start(rank));
    }
    const Status started = launcher_.start({.worker = worker,
                                            .argv = options_.command,
                                            .environment = std::move(environment),
                                            .directory = options_.working_directory,
                                            .label = fmt::format("rank {}", rank)});
    if (!started) {
      finish(JobOutcome::Failed, kJobExitBadInput, started.error().message);
      return;
    }
    ranks_[worker] = rank;
    record.members.push_back(worker);
    timeline_.workers.push_back(WorkerRecord{.worker = worker, .started = elapsed()});
  }
  timeline_.generations.push_back(std::move(record));
}

void RestartedJob::end_all(int signal) {
  for (const auto& [worker, rank] : ranks_) {
    [[maybe_unused]] const Status sent = launcher_.signal(worker, signal);
  }
}

void RestartedJob::resize(int workers) {
  if (workers != target_) {
    restart(workers, fmt::format("resize to {}", workers));
  }
}

void RestartedJob::restart(int workers, const std::string& cause) {
  if (phase_ == Phase::Over) {
    return;
  }
  target_ = workers;
  cause_ = cause;
  ending_.reset();
  begin_ending();
}

void RestartedJob::end(JobOutcome outcome, const std::string& reason) {
  if (phase_ == Phase::Over) {
    return;
  }
  ending_ = outcome;
  cause_ = reason;
  begin_ending();
}

void RestartedJob::begin_ending() {
  if (phase_ == Phase::Running) {
    phase_ = Phase::Ending;
    deadline_ = Clock::now() + options_.grace;
    end_all(SIGTERM);
  }
}

Status RestartedJob::signal(int rank, int signal) {
  for (const auto& [worker, its_rank] : ranks_) {
    if (its_rank == rank) {
      return launcher_.signal(worker, signal);
    }
  }
  return Error{.code = ErrorCode::NotFound, .message = fmt::format("no worker has rank {}", rank)};
}

void RestartedJob::stop(const std::string& reason) {
  finish(JobOutcome::Failed, kJobExitFailed, reason);
}

bool RestartedJob::turn(Duration wait, std::span<const int> also) {
  std::vector<pollfd> ready{{.fd = launcher_.descriptor(), .events = POLLIN, .revents = 0}};
  for (const int descriptor : also) {
    ready.push_back({.fd = descriptor, .events = POLLIN, .revents = 0});
  }
  ::poll(ready.data(), ready.size(),
         static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(wait).count()));
  for (const WorkerEnd& end : launcher_.ended()) {
    on_ended(end);
  }
  if (phase_ == Phase::Ending && Clock::now() >= deadline_) {
    end_all(SIGKILL);
  }
  if (ranks_.empty() && phase_ != Phase::Over) {
    on_all_ended();
  }
  timeline_.total = elapsed();
  return !(phase_ == Phase::Over && ranks_.empty());
}

void RestartedJob::on_ended(const WorkerEnd& end) {
  if (ranks_.erase(end.worker) == 0) {
    return;
  }
  const auto record = std::ranges::find(timeline_.workers, end.worker, &WorkerRecord::worker);
  record->ended = elapsed();
  record->cause = describe(end.cause);
  wants_requeue_ = wants_requeue_ || end.cause.kind == ExitKind::Requeue;
  const bool is_failure =
      end.cause.kind != ExitKind::Finished && end.cause.kind != ExitKind::Requeue;
  if (phase_ == Phase::Running && is_failure) {
    // The others would wait for it in their next collective.
    has_failed_ = true;
    first_failure_ = end.cause;
    cause_ = fmt::format("worker {}: {}", end.worker.value, record->cause);
    begin_ending();
  }
}

void RestartedJob::on_all_ended() {
  if (phase_ == Phase::Running) {
    if (wants_requeue_) {
      finish(JobOutcome::Requeue, kExitRequeue, "the program asked to be queued again");
    } else {
      finish(JobOutcome::Finished, 0, "");
    }
    return;
  }
  if (ending_) {
    finish(*ending_, *ending_ == JobOutcome::Failed ? kJobExitFailed : 0, cause_);
    return;
  }
  if (has_failed_ && ++failures_ > options_.restarts_max) {
    timeline_.cause = first_failure_.kind;
    finish(JobOutcome::Failed, std::max(1, shell_code(first_failure_.status)),
           describe(first_failure_));
    return;
  }
  ++restarts_;
  start_all(cause_);
}

void RestartedJob::finish(JobOutcome outcome, int exit_code, const std::string& reason) {
  if (phase_ == Phase::Over) {
    return;
  }
  phase_ = Phase::Over;
  timeline_.outcome = outcome;
  timeline_.exit_code = exit_code;
  timeline_.reason = reason;
  end_all(SIGKILL);
}

}  // namespace rubato
