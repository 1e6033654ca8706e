// The directory of one job, as its agent and the process that conducts it share it:
//
//     order.json   the last order that the agent has taken (wire::ConductOrder)
//     lock         held as long as a process conducts the job, however that ends
//     socket       where that process listens for the agent
//     ended.json   how the job ended (wire::JobEnded); the agent reports it until it is forgotten
//     forgotten.json   the same, once the controller has journalled it
//     logs/log     what all workers say, each line with who says it; `rubato logs` reads it
//     logs/worker-3.log, logs/conduct.log   what one worker, or the conducting process, says
//     logs/metrics what the program tells of itself; see launch/metrics/metric_file.h
//     until.pt     state of a script that its rule has ended early
//     snapshots/   of an elastic job
//     checkpoints/ for programs that keep their own state
//     work/        where programs run that name no directory
//
// Files are replaced as a whole, and are on disk before anyone relies on them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/wire/agent.pb.h"
#include "rubato/wire/conduct.pb.h"
#include "rubato/wire/descriptor.h"

namespace rubato {

/// Names and contents of a job's directory.
class ConductFiles {
 public:
  explicit ConductFiles(std::string directory) : directory_(std::move(directory)) {}

  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] std::string socket() const { return directory_ + "/socket"; }
  [[nodiscard]] std::string logs() const { return directory_ + "/logs"; }
  [[nodiscard]] std::string merged_log() const { return logs() + "/log"; }
  [[nodiscard]] std::string conduct_log() const { return logs() + "/conduct.log"; }
  [[nodiscard]] std::string metrics() const { return logs() + "/metrics"; }
  [[nodiscard]] std::string snapshots() const { return directory_ + "/snapshots"; }
  [[nodiscard]] std::string checkpoints() const { return directory_ + "/checkpoints"; }
  [[nodiscard]] std::string work() const { return directory_ + "/work"; }
  [[nodiscard]] std::string progress() const { return directory_ + "/progress"; }
  [[nodiscard]] std::string notice() const { return directory_ + "/notice"; }

  /// Makes the directory and those within.
  [[nodiscard]] Status prepare() const;
  /// From now on snapshots, checkpoints and logs lie in a directory that other machines see too, so
  /// that the job can go on there. What lies here already stays here.
  [[nodiscard]] Status keep_state_in(const std::string& shared) const;

  [[nodiscard]] Status write_order(const wire::ConductOrder& order) const;
  /// NotFound if there is none.
  [[nodiscard]] Result<wire::ConductOrder> read_order() const;
  [[nodiscard]] Status write_ended(const wire::JobEnded& ended) const;
  [[nodiscard]] Result<wire::JobEnded> read_ended() const;
  /// How the job ended, if the controller knows.
  [[nodiscard]] Result<wire::JobEnded> read_forgotten() const;
  /// The controller knows of the end. Removes all but the logs and that fact, unless the job may be
  /// ordered again.
  void forget(bool keeps_state) const;
  /// The job begins again.
  void clear_ended() const;

  /// The lock, if nobody holds it: then nobody conducts the job. Held until the last process that
  /// has the descriptor is gone.
  [[nodiscard]] std::optional<Descriptor> try_lock() const;
  /// Whether nothing can be written here because there is no room left.
  [[nodiscard]] bool is_disk_full() const;
  /// The step of the newest snapshot by the name of its file; zero if there is none.
  [[nodiscard]] std::uint64_t newest_snapshot_step() const;

 private:
  std::string directory_;
};

/// True for an end after which the job may be ordered again, to go on from where it stood.
[[nodiscard]] bool can_go_on(const wire::JobEnded& ended);

}  // namespace rubato
