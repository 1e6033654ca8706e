// Free GPUs of one pool over all future time, piecewise constant between breakpoints.
//
// Admission, backfill, leases and maintenance all reserve on a ledger. Cost grows with the number
// of reservations and not with the horizon: breakpoints live in chunks that know their minimum, so
// a stretch with room enough is crossed one chunk at a time.
#pragma once

#include <cstddef>
#include <vector>

#include "rubato/base/time.h"

namespace rubato {

/// Exact: a release undoes the same reserve to the byte. Over-commitment is possible only through
/// change_capacity(), when GPUs break; reserve() checks that there is room.
class Ledger {
 public:
  explicit Ledger(int capacity);

  [[nodiscard]] int free_at(Instant moment) const;
  /// The least free anywhere in [from, to); the capacity side is not bounded below by zero.
  [[nodiscard]] int min_free(Instant from, Instant to) const;

  /// Takes `gpus` during [from, to); there must be room.
  void reserve(Instant from, Instant to, int gpus);
  void release(Instant from, Instant to, int gpus);
  /// Adds (or, if negative, takes away) capacity from a moment on, whatever is reserved.
  void change_capacity(Instant from, int gpus);

  /// Forgets breakpoints before `moment`: the past cannot be planned.
  void forget_before(Instant moment);

  /// Calls visit(begin, end, min(free, cap)) -> bool (go on?) over [from, to), neighbouring equal
  /// runs joined. Negative free counts as zero.
  template <typename Visit>
  void for_each_run(Instant from, Instant to, int cap, Visit visit) const;

  /// The first moment not before `from` with `gpus` free for `span`; kNever if more than capacity.
  [[nodiscard]] Instant earliest_fit(Instant from, Duration span, int gpus) const;

  [[nodiscard]] std::size_t breakpoints() const;

 private:
  struct Step {
    Instant at{};
    int free = 0;  // From `at` to the next step; the chunk's `added` comes on top.
  };
  struct Chunk {
    std::vector<Step> steps{};
    int added = 0;
    int min = 0;  // Of `free` over the steps, without `added`.
  };
  struct Place {
    std::size_t chunk = 0;
    std::size_t step = 0;
  };

  static constexpr std::size_t kChunkMax = 128;

  [[nodiscard]] std::size_t chunk_of(Instant moment) const;
  [[nodiscard]] Place place_of(Instant moment) const;
  void add(Instant from, Instant to, int gpus);
  void add_within(Chunk& chunk, Instant from, Instant to, int gpus);
  void split_at(Instant moment);
  void join_at(Instant moment);

  std::vector<Chunk> chunks_;  // Never empty; the first step of all is at Instant::min().
};

template <typename Visit>
void Ledger::for_each_run(Instant from, Instant to, int cap, Visit visit) const {
  if (from >= to) {
    return;
  }
  Place place = place_of(from);
  Instant begin = from;
  int current = -1;  // Free GPUs of the run that started at `begin`; -1 before the first.
  for (std::size_t c = place.chunk; c < chunks_.size(); ++c) {
    const Chunk& chunk = chunks_[c];
    std::size_t i = c == place.chunk ? place.step : 0;
    if (chunk.steps[i].at >= to) {
      break;
    }
    if (current == cap && chunk.min + chunk.added >= cap) {
      continue;  // The whole chunk goes on with the run.
    }
    for (; i < chunk.steps.size() && chunk.steps[i].at < to; ++i) {
      const int free = chunk.steps[i].free + chunk.added;
      const int seen = free < 0 ? 0 : (free > cap ? cap : free);
      if (seen == current) {
        continue;
      }
      const Instant at = chunk.steps[i].at < from ? from : chunk.steps[i].at;
      if (current >= 0 && !visit(begin, at, current)) {
        return;
      }
      begin = at;
      current = seen;
    }
  }
  visit(begin, to, current);
}

}  // namespace rubato
