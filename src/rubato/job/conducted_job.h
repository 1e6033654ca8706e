// One job as `rubato conduct` runs it, whichever way its kind is run.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/base/time.h"
#include "rubato/job/conduct_files.h"
#include "rubato/launch/job_timeline.h"
#include "rubato/launch/launcher.h"
#include "rubato/launch/metrics/job_metrics.h"
#include "rubato/wire/agent.pb.h"
#include "rubato/wire/conduct.pb.h"

namespace rubato {

class EmulatedCrew;

/// A running job. Used from one thread, which turns its loop.
class ConductedJob {
 public:
  virtual ~ConductedJob() = default;

  /// As Conductor::turn.
  [[nodiscard]] virtual bool turn(Duration wait, std::span<const int> also) = 0;
  /// Trains on the slots of a newer order, at least one.
  virtual void obey(const wire::ConductOrder& order) = 0;
  /// Ends all workers so that the job can go on later; nothing committed is lost.
  virtual void suspend(const std::string& reason) = 0;
  /// As `suspend`, but keeps its processes, which hold no slot, until it is to obey again. False if
  /// it cannot: then nothing has changed.
  [[nodiscard]] virtual bool park() = 0;
  virtual void stop(const std::string& reason) = 0;
  /// Lets the program end in good order, at most a grace later, because it has done enough. The
  /// outcome is then Finished or Suspended, unless it fails on its way out.
  virtual void end_early(const std::string& reason) = 0;

  /// True if no worker is on a slot that the last order does not name.
  [[nodiscard]] virtual bool holds_no_more() const = 0;
  /// True if as many train as the last order says, or none if it is parked.
  [[nodiscard]] virtual bool has_obeyed() const = 0;
  /// All of it but job and order; the speed is zero where it is not known yet.
  virtual void describe(wire::JobReport& report) const = 0;
  [[nodiscard]] virtual const JobTimeline& timeline() const = 0;
};

/// Where a job runs; all of it must outlive the job.
struct ConductScene {
  const ConductFiles& files;
  Launcher& launcher;
  EmulatedCrew* crew = nullptr;  // The same, if its workers are emulated in threads.
  launch::metrics::JobMetrics* metrics = nullptr;  // For what the program reports by itself.
};

/// For programs that use our runtime, Python scripts that are taken over, and emulated jobs.
[[nodiscard]] Result<std::unique_ptr<ConductedJob>> conduct_elastic(const wire::ConductOrder& order,
                                                                    const ConductScene& scene);

/// For all other programs.
[[nodiscard]] std::unique_ptr<ConductedJob> conduct_restarted(const wire::ConductOrder& order,
                                                              const ConductScene& scene);

/// What all workers of a job see.
[[nodiscard]] Environment job_environment(const wire::ConductOrder& order,
                                          const ConductFiles& files);
/// Where its workers run.
[[nodiscard]] std::string job_directory(const wire::JobSpec& spec, const ConductFiles& files);

}  // namespace rubato
