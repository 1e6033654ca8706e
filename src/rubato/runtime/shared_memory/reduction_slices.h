// How a sum is cut up: segments that depend on its length alone, dealt out to the ranks in runs.
// Squares are added up by segment, so they too are the same for every number of ranks.
#pragma once

#include <algorithm>
#include <cstddef>

namespace rubato {

/// Most segments of one sum; divides evenly among 2, 3, 4, 6, 8, 12 and 16 ranks.
constexpr std::size_t kSegmentsMax = 192;
/// Shortest segment worth an owner of its own, in floats.
constexpr std::size_t kSegmentFloatsMin = 256;
/// Segments start on cache lines.
constexpr std::size_t kSegmentFloatsStep = 16;

/// A half-open run of segments or floats.
struct ReductionRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// A sum of so many floats, cut into segments.
class ReductionSlices {
 public:
  explicit ReductionSlices(std::size_t floats)
      : floats_(floats), segment_floats_(segment_floats(floats)) {}

  [[nodiscard]] std::size_t segments() const {
    return (floats_ + segment_floats_ - 1) / segment_floats_;
  }

  /// The segments that a rank sums; none if there are fewer segments than ranks.
  [[nodiscard]] ReductionRange owned_by(int rank, int size) const {
    const auto of = static_cast<std::size_t>(size);
    const auto first = static_cast<std::size_t>(rank);
    return {.begin = segments() * first / of, .end = segments() * (first + 1) / of};
  }

  /// The floats of a segment.
  [[nodiscard]] ReductionRange floats_of(std::size_t segment) const {
    return {.begin = segment * segment_floats_,
            .end = std::min(floats_, (segment + 1) * segment_floats_)};
  }

 private:
  static std::size_t segment_floats(std::size_t floats) {
    const std::size_t even = (floats + kSegmentsMax - 1) / kSegmentsMax;
    const std::size_t whole = (even + kSegmentFloatsStep - 1) / kSegmentFloatsStep;
    return std::max(kSegmentFloatsMin, whole * kSegmentFloatsStep);
  }

  std::size_t floats_;
  std::size_t segment_floats_;
};

}  // namespace rubato
