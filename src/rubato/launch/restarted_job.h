// Runs a program that knows nothing of Rubato: every worker gets torchrun's environment, and a
// change of size ends all of them and starts the new number, as torchrun would. The program keeps
// its state by its own checkpoints.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/launch/job_timeline.h"
#include "rubato/launch/launcher.h"

namespace rubato {

/// What to run and how often to start it again.
struct RestartedJobOptions {
  std::vector<std::string> command{};
  Environment environment{};  // Without torchrun's variables.
  std::string working_directory{};
  std::function<Environment(int rank)> on_start{};  // What one worker sees beside that.
  std::string run_id = "none";
  int workers = 1;
  int restarts_max = 3;                       // After failures; changes of size are free.
  Duration grace = std::chrono::seconds(30);  // From SIGTERM to SIGKILL.
};

/// One such job. Used from one thread, which turns its loop.
class RestartedJob {
 public:
  RestartedJob(RestartedJobOptions options, Launcher& launcher);

  /// Waits for something to happen, at most so long, and deals with it. False: the job is over.
  /// Also returns when `also` can be read.
  [[nodiscard]] bool turn(Duration wait, std::span<const int> also = {});
  void resize(int workers);
  /// Ends all and starts so many, even if their number stays the same.
  void restart(int workers, const std::string& cause);
  /// Lets all workers end in good order; the job then has this outcome, unless it is over first.
  void end(JobOutcome outcome, const std::string& reason);
  [[nodiscard]] Status signal(int rank, int signal);
  void stop(const std::string& reason);

  [[nodiscard]] const JobTimeline& timeline() const { return timeline_; }
  [[nodiscard]] Duration elapsed() const;
  /// Workers whose processes run.
  [[nodiscard]] int workers_running() const { return static_cast<int>(ranks_.size()); }
  /// True while workers are being ended.
  [[nodiscard]] bool is_changing() const { return phase_ != Phase::Running; }

 private:
  using Clock = std::chrono::steady_clock;
  enum class Phase { Running, Ending, Over };

  void start_all(const std::string& cause);
  void end_all(int signal);
  void begin_ending();
  void on_ended(const WorkerEnd& end);
  void on_all_ended();
  void finish(JobOutcome outcome, int exit_code, const std::string& reason);

  RestartedJobOptions options_;
  Launcher& launcher_;
  Clock::time_point began_;
  Clock::time_point deadline_{};  // Of the grace.
  Phase phase_ = Phase::Running;
  int target_ = 0;
  int restarts_ = 0;  // Of any kind.
  int failures_ = 0;
  bool has_failed_ = false;  // Since the last start.
  bool wants_requeue_ = false;
  ExitCause first_failure_{};
  std::optional<JobOutcome> ending_{};  // What the job comes to once all have ended.
  std::string cause_{};                 // Of the next start.
  std::uint64_t next_worker_ = 1;
  std::map<WorkerId, int> ranks_{};  // Of those that run.
  JobTimeline timeline_;
};

}  // namespace rubato
