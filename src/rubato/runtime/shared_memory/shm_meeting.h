// The memory by which the ranks of one host meet: a barrier, a card and a note from each, squares
// of segments, and room for broadcasts. All zero is its first state.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "rubato/base/result.h"
#include "rubato/runtime/shared_memory/futex_barrier.h"
#include "rubato/runtime/shared_memory/reduction_slices.h"

namespace rubato {

constexpr std::size_t kMeetingRanksMax = 240;  // Their arenas travel in one frame.
constexpr std::size_t kMeetingNotesMax = 512;
constexpr std::size_t kMeetingShardsMax = 512;
constexpr std::size_t kMeetingChunkBytes = std::size_t{1} << 20U;

/// What a rank says it was asked to do.
struct MeetingCard {
  std::uint64_t fingerprint;
  std::uint64_t offset;  // Of what it broadcasts, in its arena.
};

/// The shared memory. What comes in two copies is used in turns, so that a rank can write for its
/// next call while others still read for this one.
struct Meeting {
  BarrierWords barrier;
  alignas(64) std::atomic<std::uint32_t> size;
  struct alignas(64) PaddedCard {
    MeetingCard card;
  };
  std::array<std::array<PaddedCard, kMeetingRanksMax>, 2> cards;
  alignas(
      64) std::array<std::array<std::array<double, kMeetingNotesMax>, kMeetingRanksMax>, 2> notes;
  alignas(64) std::array<double, kSegmentsMax*(kMeetingShardsMax + 1)> squares;
  alignas(64) std::array<std::array<std::byte, kMeetingChunkBytes>, 2> chunks;
};

/// A mapping of it.
class MeetingMap {
 public:
  /// The descriptor stays the caller's.
  [[nodiscard]] static Result<MeetingMap> open(int descriptor);

  MeetingMap(MeetingMap&& other) noexcept;
  MeetingMap& operator=(MeetingMap&& other) noexcept;
  MeetingMap(const MeetingMap&) = delete;
  MeetingMap& operator=(const MeetingMap&) = delete;
  ~MeetingMap();

  [[nodiscard]] Meeting& operator*() const { return *meeting_; }
  [[nodiscard]] Meeting* operator->() const { return meeting_; }

 private:
  explicit MeetingMap(Meeting* meeting) : meeting_(meeting) {}

  Meeting* meeting_;
};

}  // namespace rubato
