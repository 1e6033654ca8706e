// Snapshots in anonymous memory: a worker writes them between two steps and hands the memory over,
// so that they outlive it. Memory that is not needed any more is written again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/runtime/shared_memory/arena.h"
#include "rubato/wire/data_cursor.h"
#include "rubato/wire/descriptor.h"

namespace rubato {

/// What a snapshot has beside the parameters.
struct SnapshotState {
  DataCursor cursor{};
  std::uint64_t batch = 0;
  std::string rest{};  // The program's own state.
};

/// Where a snapshot was written; the descriptor is lent.
struct WrittenSnapshot {
  std::uint32_t slot = 0;
  int memory = -1;
  std::size_t bytes = 0;
};

/// The memories of one worker's snapshots.
class SnapshotSlots {
 public:
  SnapshotSlots() = default;
  SnapshotSlots(const SnapshotSlots&) = delete;
  SnapshotSlots& operator=(const SnapshotSlots&) = delete;
  ~SnapshotSlots();

  [[nodiscard]] Result<WrittenSnapshot> write(const SnapshotState& state, const Arena& arena);
  /// The memory of a slot may be written again.
  void release(std::uint32_t slot);

 private:
  struct Slot {
    Descriptor memory{};
    std::byte* mapped = nullptr;
    std::size_t bytes = 0;
    bool is_free = true;
  };

  [[nodiscard]] Result<std::uint32_t> take(std::size_t bytes);

  std::vector<Slot> slots_;
};

/// Reads a snapshot into the arena's parameters and returns the rest.
[[nodiscard]] Result<SnapshotState> read_snapshot(int memory, std::size_t bytes, Arena& arena);

}  // namespace rubato
