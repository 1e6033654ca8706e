// One training job as those who drive it see it, whichever way its processes are run: every worker
// runs the program (Conductor), or one process runs the script and forks replicas (ScriptRun).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "rubato/base/result.h"
#include "rubato/base/time.h"
#include "rubato/launch/job_timeline.h"
#include "rubato/launch/launcher.h"

namespace rubato {

/// One value of a metric that a program reports by itself.
struct MetricValue {
  std::string name{};
  double value = 0;
  std::uint64_t step = 0;
};

/// What an onlooker may want to hear at once.
struct TrainingRunEvents {
  std::function<void(std::uint64_t step)> on_step{};  // Whenever a higher one is known.
  std::function<void(const GenerationRecord& record)> on_generation{};
  std::function<void(const ShapeRecord& recent)> on_profile{};  // Of the steps since the last.
  std::function<void(WorkerId worker)> on_leader{};  // Rank 0 of a generation that was entered.
  // Called before a worker is started: what it must see beside what all see.
  std::function<Environment(WorkerId worker)> on_start{};
  std::function<void(WorkerId worker)> on_end{};  // Its process is gone.
  std::function<void(const JobNotice& notice)> on_notice{};
  std::function<void(std::span<const MetricValue> values)> on_metrics{};
};

/// A running job. Used from one thread, which turns its loop.
class TrainingRun {
 public:
  virtual ~TrainingRun() = default;

  /// Waits for something to happen, at most so long, and deals with it. False: the job is over.
  /// Also returns when `also` can be read.
  [[nodiscard]] virtual bool turn(Duration wait, std::span<const int> also) = 0;
  [[nodiscard]] bool turn(Duration wait) { return turn(wait, {}); }

  /// At least one worker; those who are leaving are replaced even if their number is right.
  virtual void resize(int workers, std::set<WorkerId> leaving) = 0;
  void resize(int workers) { resize(workers, {}); }
  /// Ends all workers after the step they are at; what they have committed is then on disk. The
  /// outcome is Suspended, unless the job is over first.
  virtual void suspend(const std::string& reason) = 0;
  /// A snapshot is written after the step that is being computed.
  virtual void snapshot_now() = 0;
  virtual Status signal(WorkerId worker, int signal) = 0;
  /// Ends all workers; the job has failed for this reason unless it is over already.
  virtual void stop(const std::string& reason) = 0;
  /// The job has done enough: it ends in good order after the step it is at. The outcome is then
  /// Finished, or Suspended with the last step in a snapshot.
  virtual void end_early(const std::string& reason) = 0;

  /// The worker at a rank of those that train, if there is one.
  [[nodiscard]] virtual std::optional<WorkerId> worker_at(int rank) const = 0;
  [[nodiscard]] virtual const JobTimeline& timeline() const = 0;
  /// Steps that are committed, as far as is known; less than before after a loss of all workers.
  [[nodiscard]] virtual std::uint64_t step() const = 0;
  /// Workers that train; none before the first step can be taken, or at the job's end.
  [[nodiscard]] virtual int workers_training() const = 0;
  /// True if as many train as was last asked for, or as many as the program can make use of.
  [[nodiscard]] virtual bool has_resized() const = 0;
  /// Workers whose processes run and do not just wait to be used again.
  [[nodiscard]] virtual int slots_held() const = 0;
};

}  // namespace rubato
