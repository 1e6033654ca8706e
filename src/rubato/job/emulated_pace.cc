#include "rubato/job/emulated_pace.h"

#include <algorithm>
#include <utility>

namespace rubato {

EmulatedPace::Clock::duration EmulatedPace::time_of(double steps, int workers) const {
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(steps / speed_at(speeds_, workers)));
}

EmulatedPace::Clock::time_point EmulatedPace::reached(double steps) const {
  return resume_ + time_of(steps - done_, workers_);
}

void EmulatedPace::ordered(Clock::time_point decided, int workers) {
  const std::scoped_lock lock(mutex_);
  if (has_begun_ && decided > resume_) {
    done_ += std::chrono::duration<double>(decided - resume_).count() * speed_at(speeds_, workers_);
  }
  resume_ = std::max(resume_, decided) + pause_;
  workers_ = workers;
  is_awaited_ = true;
}

EmulatedPace::Clock::time_point EmulatedPace::due(const EmulatedStep& step, Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  if (step.generation < last_.generation) {
    return now;  // Of a group that is broken; nobody waits for it.
  }
  if (step.generation == last_.generation && step.step == last_.step) {
    return due_;
  }
  if (!std::exchange(has_begun_, true)) {
    workers_ = workers_ == 0 ? step.workers : workers_;
    done_ = static_cast<double>(step.step);
  }
  if (step.workers != workers_ && !is_awaited_) {
    workers_ = step.workers;
    done_ = static_cast<double>(step.step);
    resume_ = std::max(due_, now);
  }
  if (step.workers == workers_) {
    is_awaited_ = false;
    const auto target = reached(static_cast<double>(step.step) + 1);
    due_ = target >= now ? target : now + time_of(1, workers_);
    resume_ += due_ - target;
  } else {
    due_ = std::max(due_, now) + time_of(1, step.workers);  // Not yet, or not all of them.
  }
  last_ = step;
  return due_;
}

}  // namespace rubato
