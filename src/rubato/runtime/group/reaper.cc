#include "rubato/runtime/group/reaper.h"

#include <utility>

namespace rubato {

Reaper::~Reaper() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Reaper::take(std::function<void()> last_rites) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(last_rites));
  }
  changed_.notify_one();
}

void Reaper::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_ending_ || !waiting_.empty(); });
    if (waiting_.empty()) {
      return;
    }
    std::function<void()> next = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    next();
    next = nullptr;  // What it holds is destroyed here too, not under the lock.
    lock.lock();
  }
}

}  // namespace rubato
