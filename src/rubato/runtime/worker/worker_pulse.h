// What a worker's training thread tells of its progress and its link sends on with each heartbeat.
#pragma once

#include <cstdint>
#include <mutex>

namespace rubato {

/// Progress since the last heartbeat, and where the worker stands.
struct PulseReading {
  std::uint64_t step = 0;
  std::uint32_t epoch = 0;
  std::uint64_t batch = 0;
  double loss = 0;
  double compute_seconds = 0;
  double reduce_seconds = 0;
  double data_seconds = 0;
  std::uint64_t steps = 0;
  std::uint64_t samples = 0;
  double noise_scale = 0;
  double efficiency = 0;
};

/// One committed step.
struct StepTimes {
  double compute_seconds = 0;
  double reduce_seconds = 0;
  double data_seconds = 0;
};

/// Written by one thread, read by another.
class WorkerPulse {
 public:
  /// Where the worker stands; sums are left alone.
  void stand_at(std::uint64_t step, std::uint32_t epoch, std::uint64_t batch) {
    const std::scoped_lock lock(mutex_);
    reading_.step = step;
    reading_.epoch = epoch;
    reading_.batch = batch;
  }

  void count_step(const StepTimes& times, std::uint64_t samples, double loss) {
    const std::scoped_lock lock(mutex_);
    reading_.compute_seconds += times.compute_seconds;
    reading_.reduce_seconds += times.reduce_seconds;
    reading_.data_seconds += times.data_seconds;
    reading_.samples += samples;
    reading_.steps += 1;
    reading_.loss = loss;
  }

  void set_noise(double noise_scale, double efficiency) {
    const std::scoped_lock lock(mutex_);
    reading_.noise_scale = noise_scale;
    reading_.efficiency = efficiency;
  }

  /// The reading; its sums begin anew.
  [[nodiscard]] PulseReading take() {
    const std::scoped_lock lock(mutex_);
    const PulseReading taken = reading_;
    reading_.compute_seconds = 0;
    reading_.reduce_seconds = 0;
    reading_.data_seconds = 0;
    reading_.steps = 0;
    reading_.samples = 0;
    return taken;
  }

 private:
  std::mutex mutex_;
  PulseReading reading_;
};

}  // namespace rubato
