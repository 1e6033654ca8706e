// What reports have shown about the pace of a job: how much of its work ran at which speed.
#pragma once

#include <cmath>
#include <map>
#include <vector>

#include "rubato/core/job_state.h"
#include "rubato/policy/shockwave/mode_posterior.h"

namespace rubato::policy::shockwave {

/// Paces that differ by less than a twentieth are one.
class PaceRecord {
 public:
  /// A report may have changed the job's speed; what ran since the last one ran at the old pace.
  void report(const JobState& job, Instant now) {
    count(job.progress.at(now));
    pace_ = nearest(job.speed_factor);
    steps_.try_emplace(pace_, 0.0);
  }

  /// Run time left at this speed, before the speed factor.
  [[nodiscard]] double seconds_left(const JobState& job, double book_speed, Instant now) const {
    if (steps_.size() <= 1) {
      return job.work_left(now) / (book_speed * job.speed_factor);
    }
    PaceRecord present = *this;
    present.count(job.progress.at(now));
    std::vector<PaceMode> modes;
    for (const auto& [pace, steps] : present.steps_) {
      modes.push_back(
          {.seconds_per_epoch = 1 / (book_speed * std::pow(kStep, pace)), .seen = steps});
    }
    return expected_seconds_left(modes, job.job.work);
  }

  struct State {
    int pace = 0;
    double counted = 0;
    std::map<int, double> steps{};
  };
  [[nodiscard]] State state() const { return {pace_, counted_, steps_}; }
  void restore(State state) {
    pace_ = state.pace;
    counted_ = state.counted;
    steps_ = std::move(state.steps);
  }

 private:
  static constexpr double kStep = 1.05;

  static int nearest(double factor) {
    return static_cast<int>(std::lround(std::log(std::clamp(factor, 1e-3, 1e3)) / std::log(kStep)));
  }
  void count(double done) {
    steps_[pace_] += std::max(0.0, done - counted_);
    counted_ = done;
  }

  int pace_ = 0;        // As a power of kStep.
  double counted_ = 0;  // Steps that steps_ accounts for.
  std::map<int, double> steps_{};
};

}  // namespace rubato::policy::shockwave
