// When batches are due: one slot after the first job, then after twice as long each time.
//
// The interval-doubling framework (Hall, Schulz, Shmoys, Wein 1997) behind A_online and Astraea:
// batch l is decided 2^l slots after the start, with a window of that length. In a system that
// never empties intervals would grow without end, so they stop growing at `slots_max`, and the
// clock starts anew when the system has run empty.
#pragma once

#include <algorithm>
#include <string>

#include "rubato/base/time.h"
#include "rubato/policy/saved_state.h"

namespace rubato::policy::reconstructed {

/// Slot of batches where the user chooses none.
inline constexpr Duration kBatchSlot = std::chrono::seconds(60);

class DoublingClock {
 public:
  DoublingClock() = default;
  explicit DoublingClock(int slots_max) : slots_max_(slots_max) {}

  /// A job arrived; the first one of an empty system starts the clock.
  void arrive(Instant now, Duration slot) {
    if (next_ == kNever) {
      next_ = later(now, slot);
      length_ = 1;
    }
  }
  /// When the next batch is due; kNever if the clock stands still.
  [[nodiscard]] Instant next() const { return next_; }
  /// Window of the batch that is due, in slots.
  [[nodiscard]] int length() const { return length_; }

  /// The batch was held.
  void advance(Instant now, Duration slot) {
    next_ = later(now, length_ * slot);
    length_ = std::min(2 * length_, slots_max_);
  }
  void stop() { next_ = kNever; }

  void save(std::string& state) const {
    append_line(state, "batch", {next_.time_since_epoch().count(), length_});
  }
  [[nodiscard]] bool restore(const SavedLine& line) {
    if (line.word != "batch" || line.numbers.size() != 2) {
      return false;
    }
    next_ = Instant{Duration{line.numbers[0]}};
    length_ = static_cast<int>(line.numbers[1]);
    return true;
  }

 private:
  int slots_max_ = 1;
  Instant next_ = kNever;
  int length_ = 1;
};

}  // namespace rubato::policy::reconstructed
