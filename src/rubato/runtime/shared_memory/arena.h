// The memory of one worker that peers on the same host can map: parameters and gradient slots. It
// is an anonymous file, so nothing is left behind whoever is killed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "rubato/base/result.h"

namespace rubato {

/// Room behind a lone gradient slot, for what travels in the tail of a sum.
constexpr std::size_t kArenaTailFloats = std::size_t{16} << 10U;

/// What an arena holds.
struct ArenaLayout {
  std::size_t parameter_bytes = 0;
  std::size_t floats = 0;  // Of each gradient slot.
  std::size_t slots = 1;   // More than one only in deterministic mode.
};

/// A mapped arena, ours or a peer's.
class Arena {
 public:
  [[nodiscard]] static Result<Arena> create(const ArenaLayout& layout);
  /// Maps a peer's arena; the descriptor stays the caller's. The layout is read from the memory.
  [[nodiscard]] static Result<Arena> map(int descriptor);

  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  [[nodiscard]] const ArenaLayout& layout() const { return layout_; }
  [[nodiscard]] std::span<std::byte> parameters() const;
  [[nodiscard]] std::span<float> slot(std::size_t index) const;
  /// The first slot with the room behind it, if any; what is written there outlives no call.
  [[nodiscard]] std::span<float> slot_and_tail() const;
  /// Open for as long as the arena lives; -1 for a peer's.
  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// True if all of the span lies in the arena.
  [[nodiscard]] bool holds(std::span<const std::byte> bytes) const;
  /// Distance of a span that it holds from the arena's beginning; the same in every mapping.
  [[nodiscard]] std::size_t offset_of(std::span<const std::byte> bytes) const;
  [[nodiscard]] std::span<std::byte> at(std::size_t offset, std::size_t bytes) const;

 private:
  Arena() = default;

  ArenaLayout layout_{};
  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
  int descriptor_ = -1;
};

}  // namespace rubato
