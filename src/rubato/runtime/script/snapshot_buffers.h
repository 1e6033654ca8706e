// Snapshots of a script in anonymous memory: the leader writes its state there and hands the memory
// over, so that it outlives the leader. Memory that is not needed any more is written again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/wire/descriptor.h"

namespace rubato::runtime::script {

/// Where a snapshot was written; the descriptor is lent.
struct WrittenBuffer {
  std::uint32_t slot = 0;
  int memory = -1;
  std::size_t bytes = 0;
};

/// The memories of one leader's snapshots.
class SnapshotBuffers {
 public:
  SnapshotBuffers() = default;
  SnapshotBuffers(const SnapshotBuffers&) = delete;
  SnapshotBuffers& operator=(const SnapshotBuffers&) = delete;
  ~SnapshotBuffers() { clear(); }

  [[nodiscard]] Result<WrittenBuffer> write(std::uint64_t step, std::span<const std::byte> state);
  /// The memory of a slot may be written again.
  void release(std::uint32_t slot);
  [[nodiscard]] std::vector<int> descriptors() const;
  /// Gives all memory back; whoever was handed some keeps it.
  void clear();

 private:
  struct Slot {
    Descriptor memory{};
    std::byte* mapped = nullptr;
    std::size_t bytes = 0;
    bool is_free = true;
  };

  [[nodiscard]] Result<std::uint32_t> take(std::size_t bytes);

  std::vector<Slot> slots_{};
};

/// The state that `write` was given.
[[nodiscard]] Result<std::string> read_state(int memory, std::size_t bytes);

}  // namespace rubato::runtime::script
