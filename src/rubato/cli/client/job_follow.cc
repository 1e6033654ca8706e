#include "rubato/cli/client/job_follow.h"

#include <chrono>
#include <cstdio>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/core.h>

#include "rubato/cli/client/log_follower.h"
#include "rubato/cli/client/server_absence.h"
#include "rubato/cli/client/verb_answer.h"
#include "rubato/cli/process/exit_code.h"
#include "rubato/cli/process/interrupt_count.h"
#include "rubato/cli/text/job_table.h"
#include "rubato/cli/text/terminal.h"
#include "rubato/cli/text/wall_clock.h"

namespace rubato {
namespace {

using FollowClock = std::chrono::steady_clock;

constexpr Duration kLogPatience = std::chrono::milliseconds(100);
constexpr auto kLookEvery = std::chrono::milliseconds(500);
constexpr auto kLogTailMax = std::chrono::seconds(5);      // After the job's end.
constexpr auto kSecondThoughts = std::chrono::seconds(3);  // Between two Ctrl-C.
constexpr Duration kAbsenceMax = std::chrono::seconds(60);

/// One job, one terminal.
class JobFollow {
 public:
  JobFollow(PlatformClient& client, std::string job, const FollowRequest& request)
      : client_(client), job_(std::move(job)), request_(request) {
    if (request.shows_log) {
      log_.emplace(client.options(), job_, 0);
    }
  }

  int run() {
    for (;;) {
      read_log();
      if (const auto code = mind_interrupts()) {
        return *code;
      }
      if (const auto code = look()) {
        return *code;
      }
    }
  }

 private:
  void read_log() {
    if (!log_) {
      std::this_thread::sleep_for(kLogPatience);
      return;
    }
    const std::string text = log_->read(kLogPatience);
    if (!text.empty()) {
      line_.clear();
      std::FILE* out = request_.prints_json ? stderr : stdout;
      std::fwrite(text.data(), 1, text.size(), out);
      std::fflush(out);
    }
  }

  // An exit code if somebody at the terminal wants to leave.
  std::optional<int> mind_interrupts() {
    if (signals_.is_told_to_end()) {
      return leave();
    }
    if (signals_.interrupts() >= 2 && !is_cancelling_) {
      is_cancelling_ = true;
      line_.say("rubato: cancelling job " + job_);
      wire::JobStatus cancelled;
      if (const auto failure = client_.call(
              {.method = "POST", .target = job_target(job_, "/cancel"), .body = "{}"}, cancelled)) {
        return explain_failure(request_.verb, *failure);
      }
    } else if (signals_.interrupts() == 1 && !leaves_at_) {
      leaves_at_ = FollowClock::now() + kSecondThoughts;
      line_.say("rubato: job " + job_ + " goes on without this terminal; press Ctrl-C again " +
                "now to cancel it");
    }
    if (!is_cancelling_ && leaves_at_ && FollowClock::now() >= *leaves_at_) {
      return leave();
    }
    return std::nullopt;
  }

  int leave() {
    line_.say(
        fmt::format("rubato: left job {}; rubato logs -f {} follows it, rubato cancel {} ends "
                    "it",
                    job_, job_, job_));
    return kExitNotFinished;
  }

  // Asks how the job stands, now and then; an exit code if it is over.
  std::optional<int> look() {
    const auto now = FollowClock::now();
    const bool is_log_over = !log_ || log_->is_over() || log_->failure().has_value();
    if (is_final(status_) && (is_log_over || now >= *log_until_)) {
      return finish();
    }
    if (now < next_look_ || is_final(status_)) {
      return std::nullopt;
    }
    next_look_ = now + kLookEvery;
    wire::JobStatus status;
    if (const auto failure = client_.get(job_target(job_), status)) {
      const bool may_return = failure->exit_code == kExitNoServer && !absence_.is_too_long();
      return may_return ? std::nullopt : std::optional(explain_failure(request_.verb, *failure));
    }
    absence_.end();
    show(std::move(status));
    if (is_final(status_)) {
      log_until_ = now + kLogTailMax;
    }
    return std::nullopt;
  }

  void show(wire::JobStatus status) {
    const WallClock clock = local_wall_clock();
    if (const std::string change = job_change_line(status_, status, clock);
        !change.empty() && !is_final(status)) {
      line_.say(change);
    }
    status_ = std::move(status);
    json_ = client_.json();
    line_.show(job_progress_line(status_, clock));
  }

  int finish() {
    line_.clear();
    line_.say(job_end_line(status_, local_wall_clock()));
    if (request_.prints_json) {
      fmt::print("{}", json_);
    }
    return job_exit_code(status_, request_.is_strict);
  }

  PlatformClient& client_;
  std::string job_;
  FollowRequest request_;
  std::optional<LogFollower> log_{};
  StatusLine line_{};
  InterruptCount signals_{};
  ServerAbsence absence_{kAbsenceMax};
  wire::JobStatus status_{};
  std::string json_{};
  FollowClock::time_point next_look_{};
  std::optional<FollowClock::time_point> log_until_{};
  std::optional<FollowClock::time_point> leaves_at_{};
  bool is_cancelling_ = false;
};

}  // namespace

int follow_job(PlatformClient& client, const std::string& job, const FollowRequest& request) {
  return JobFollow(client, job, request).run();
}

}  // namespace rubato
