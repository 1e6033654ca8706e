// Keeps a job's newest snapshot where no worker's death can reach it, and writes it to disk beside
// the training.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/launch/launcher.h"
#include "rubato/wire/descriptor.h"
#include "rubato/wire/snapshot_directory.h"

namespace rubato {

/// A snapshot in memory, as a worker handed it over.
struct SnapshotMemory {
  WorkerId worker{};
  std::uint32_t slot = 0;
  std::uint64_t step = 0;
  std::size_t bytes = 0;
  Descriptor memory{};
};

/// A snapshot whose memory its worker may write again.
struct FreedSnapshot {
  WorkerId worker{};
  std::uint32_t slot = 0;
};

/// What a job resumes from; lent by the keeper.
struct ResumePoint {
  int memory = -1;
  std::size_t bytes = 0;
  std::uint64_t step = 0;
};

/// The snapshots of one job. `take_freed` and `problems` tell what its thread has done.
class SnapshotKeeper {
 public:
  SnapshotKeeper() = default;
  ~SnapshotKeeper();
  SnapshotKeeper(const SnapshotKeeper&) = delete;
  SnapshotKeeper& operator=(const SnapshotKeeper&) = delete;

  /// From now on snapshots also go to files in the directory. The newest good file there is the
  /// first snapshot; returns what was passed over and why.
  [[nodiscard]] Result<std::vector<std::string>> use_directory(const std::string& path);
  void keep(SnapshotMemory snapshot);
  [[nodiscard]] std::optional<ResumePoint> newest() const;
  [[nodiscard]] std::vector<FreedSnapshot> take_freed();
  /// What went wrong on disk since the last call.
  [[nodiscard]] std::vector<std::string> take_problems();
  /// Waits until all that was kept is on disk.
  void flush();

 private:
  void run(const std::stop_token& stop);
  [[nodiscard]] Status spill(const SnapshotMemory& snapshot);

  std::optional<SnapshotDirectory> directory_;  // Used by the thread alone once that runs.
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<SnapshotMemory> newest_;
  bool is_dirty_ = false;     // The newest is not on disk yet.
  bool is_spilling_ = false;  // The thread is writing what was the newest when it began.
  std::optional<FreedSnapshot> outdated_;  // Replaced while it was being written.
  std::vector<FreedSnapshot> freed_;
  std::vector<std::string> problems_;
  std::jthread thread_;
};

}  // namespace rubato
