// Where a batch lies that the script holds. Its pages belong to the shared region, so replicas read
// the rows where they are; the script sees them through a mapping of their own, which a forked
// process can turn into private memory, as a fork does with all other memory of the script.
#pragma once

#include <cstddef>
#include <span>

#include "rubato/base/result.h"
#include "rubato/runtime/split/shared_region.h"

namespace rubato::runtime::split {

/// A second mapping of some pages of a region. It may outlive the region.
class BatchMemory {
 public:
  /// `offset` must be a multiple of the page size.
  [[nodiscard]] static Result<BatchMemory> open(const SharedRegion& region, std::size_t offset,
                                                std::size_t bytes);
  [[nodiscard]] static std::size_t page_bytes();

  BatchMemory(BatchMemory&& other) noexcept;
  BatchMemory& operator=(BatchMemory&& other) noexcept;
  BatchMemory(const BatchMemory&) = delete;
  BatchMemory& operator=(const BatchMemory&) = delete;
  ~BatchMemory();

  [[nodiscard]] std::span<std::byte> bytes() const { return {memory_, bytes_}; }

  /// Replaces the shared pages by private ones that hold `contents` and then zeros, at the same
  /// address. For a process that was just forked; `contents` must not lie in this memory.
  [[nodiscard]] Status make_private(std::span<const std::byte> contents);

 private:
  BatchMemory(std::byte* memory, std::size_t bytes) : memory_(memory), bytes_(bytes) {}

  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace rubato::runtime::split
