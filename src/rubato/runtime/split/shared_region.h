// The one piece of memory that a leader shares with its replicas. It is mapped before the first
// fork, so every replica has it at the same address and needs no name to find it by. Replicas that
// are no forks map the same file instead, wherever they have room.
#pragma once

#include <cstddef>
#include <span>

#include "rubato/base/result.h"

namespace rubato::runtime::split {

/// A shared mapping, anonymous or of a file in memory. Pages cost nothing until they are written.
class SharedRegion {
 public:
  [[nodiscard]] static Result<SharedRegion> create(std::size_t bytes);
  /// Maps the first bytes of a file, which stays open elsewhere.
  [[nodiscard]] static Result<SharedRegion> map(int descriptor, std::size_t bytes);

  SharedRegion(SharedRegion&& other) noexcept;
  SharedRegion& operator=(SharedRegion&& other) noexcept;
  SharedRegion(const SharedRegion&) = delete;
  SharedRegion& operator=(const SharedRegion&) = delete;
  ~SharedRegion();

  [[nodiscard]] std::byte* address() const { return memory_; }
  [[nodiscard]] std::size_t size() const { return bytes_; }

  /// The bytes from `offset` on; an error that names `user` if they do not lie in the region or
  /// do not begin at a multiple of `alignment`.
  [[nodiscard]] Result<std::span<std::byte>> part(std::size_t offset, std::size_t bytes,
                                                  std::size_t alignment, const char* user) const;

  /// Gives back the whole pages that lie in this range, in every process: they read as zeros
  /// afterwards. Pages that the range covers in part are left as they are.
  [[nodiscard]] Status discard(std::size_t offset, std::size_t bytes) const;

 private:
  SharedRegion(std::byte* memory, std::size_t bytes) : memory_(memory), bytes_(bytes) {}

  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace rubato::runtime::split
