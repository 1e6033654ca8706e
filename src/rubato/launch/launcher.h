// Where workers run, as the rest of Rubato sees it. One implementation per way to start them:
// this machine (launch/local), and later Slurm and Kubernetes.
#pragma once

#include <string>
#include <vector>

#include "rubato/base/id.h"
#include "rubato/base/result.h"
#include "rubato/launch/environment.h"
#include "rubato/launch/exit_cause.h"

namespace rubato {

/// Names one worker for as long as it runs; a restarted worker gets a new one.
using WorkerId = Id<struct WorkerTag>;

/// What to run. The environment is all of it: nothing is inherited.
struct WorkerStart {
  WorkerId worker{};
  std::vector<std::string> argv{};
  Environment environment{};
  std::string directory{};
  std::string label{};  // Before its lines where those of all are shown; empty: its number.
};

/// A worker that runs no more.
struct WorkerEnd {
  WorkerId worker{};
  ExitCause cause{};
};

/// Starts workers and tells of their end. Used from one thread; blocks nowhere for long.
class Launcher {
 public:
  virtual ~Launcher() = default;

  /// Readable when `ended` should be called, which also does the launcher's other work.
  [[nodiscard]] virtual int descriptor() const = 0;
  /// From now on the worker is ours, until `ended` names it: also if it then turns out that it
  /// cannot be started. An error here means that there is no such worker.
  [[nodiscard]] virtual Status start(const WorkerStart& start) = 0;
  /// To the worker and all its processes. NotFound if it has ended.
  [[nodiscard]] virtual Status signal(WorkerId worker, int signal) = 0;
  /// Workers that ended since the last call, in order of id.
  [[nodiscard]] virtual std::vector<WorkerEnd> ended() = 0;
};

}  // namespace rubato
