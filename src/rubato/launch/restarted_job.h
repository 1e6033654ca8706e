// Runs a program that knows nothing of Rubato: every worker gets torchrun's environment, and a
// change of size ends all of them and starts the new number, as torchrun would. The program keeps
// its state by its own checkpoints.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
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
  int workers = 1;
  int restarts_max = 3;                       // After failures; changes of size are free.
  Duration grace = std::chrono::seconds(30);  // From SIGTERM to SIGKILL.
};

/// One such job. Used from one thread, which turns its loop.
class RestartedJob {
 public:
  RestartedJob(RestartedJobOptions options, Launcher& launcher);

  /// Waits for something to happen, at most so long, and deals with it. False: the job is over.
  [[nodiscard]] bool turn(Duration wait);
  void resize(int workers);
  [[nodiscard]] Status signal(int rank, int signal);
  void stop(const std::string& reason);

  [[nodiscard]] const JobTimeline& timeline() const { return timeline_; }
  [[nodiscard]] Duration elapsed() const;

 private:
  using Clock = std::chrono::steady_clock;
  enum class Phase { Running, Ending, Over };

  void start_all(const std::string& cause);
  void end_all(int signal);
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
  std::string cause_{};  // Of the next start.
  std::uint64_t next_worker_ = 1;
  std::map<WorkerId, int> ranks_{};  // Of those that run.
  JobTimeline timeline_;
};

}  // namespace rubato
