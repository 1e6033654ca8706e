// When the steps of an emulated job end: as the simulator would have it, for as long as the real
// workers keep up. The workers of one process share one.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>

#include "rubato/job/emulated_speed.h"

namespace rubato {

/// A step as all its workers name it.
struct EmulatedStep {
  std::uint64_t generation = 0;
  std::uint64_t step = 0;
  int workers = 1;
};

/// May be asked by any thread.
class EmulatedPace {
 public:
  using Clock = std::chrono::steady_clock;

  /// `pause`: what a start and each change of workers costs from the moment it was decided; what
  /// it really takes is part of it. `decided`: when the start was.
  EmulatedPace(EmulatedSpeeds speeds, Clock::duration pause, Clock::time_point decided)
      : speeds_(std::move(speeds)), pause_(pause), resume_(decided + pause), due_(decided) {}

  /// Workers that change without an order cost nothing but the time that it really takes. Else from
  /// then on the job stands still for the pause and goes on with so many workers. What is
  /// done until the workers have really changed is counted, and waited for afterwards.
  void ordered(Clock::time_point decided, int workers);

  /// When the step ends; the first worker that asks decides it for all. Steps do not drift, but
  /// time that was really lost is not made up for.
  [[nodiscard]] Clock::time_point due(const EmulatedStep& step, Clock::time_point now);

 private:
  [[nodiscard]] Clock::duration time_of(double steps, int workers) const;
  /// When the job is to have done so many steps, with the workers it is to have.
  [[nodiscard]] Clock::time_point reached(double steps) const;

  EmulatedSpeeds speeds_;
  Clock::duration pause_;
  std::mutex mutex_{};
  bool has_begun_ = false;
  bool is_awaited_ = false;  // Workers were ordered that are not there yet.
  int workers_ = 0;          // As ordered; zero: as many as the first step has.
  double done_ = 0;          // At `resume_`.
  Clock::time_point resume_;
  EmulatedStep last_{};  // Generations begin at one.
  Clock::time_point due_;
};

}  // namespace rubato
