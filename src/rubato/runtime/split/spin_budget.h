// How long a process spins before it sleeps. To be woken takes some 50 microseconds, as much as a
// tenth of a short step; to spin for what takes long takes a processor from others.
#pragma once

#include <chrono>
#include <functional>

namespace rubato::runtime::split {

/// Of one process for one kind of wait: long spins, as long as few of them are in vain.
class SpinBudget {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  static constexpr std::chrono::microseconds kShort{50};
  static constexpr std::chrono::microseconds kLong{1000};
  /// Of all time: what may go to long spins after which it had to sleep all the same.
  static constexpr double kVainShareMax = 0.05;

  /// Waits by `wait(spin)`, which says whether something has come.
  bool wait(const std::function<bool(std::chrono::microseconds)>& wait);

  /// For the wait that begins now.
  [[nodiscard]] std::chrono::microseconds spin() const;

  /// After a wait; one that ended without anything is a long one, which the next may go on with.
  void note(TimePoint begin, TimePoint end, bool is_there);

 private:
  TimePoint since_{};
  std::chrono::duration<double> total_{0};  // Fades, so that the past does not count for ever.
  std::chrono::duration<double> vain_{0};
  bool goes_on_ = false;
};

}  // namespace rubato::runtime::split
