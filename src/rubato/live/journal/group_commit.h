// Many threads ask, one loop answers: all that waits is taken at once, so that one write to disk is
// enough for it.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <iterator>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/live/journal/journal_item.h"

namespace rubato {

struct CommitQueueOptions {
  std::size_t waiting_max = 10'000;
  std::size_t reserved = 10'000;  // Beyond waiting_max, for what must not be refused.
  std::size_t batch_max = 1'000;
};

enum class Posted { Accepted, Full, Closed };

/// The line in front of the loop; every function may be called from any thread.
template <typename Request>
class CommitQueue {
 public:
  using Deadline = std::chrono::steady_clock::time_point;
  enum class Kind { Ordinary, Reserved };

  explicit CommitQueue(CommitQueueOptions options = {}) : options_(options) {}

  /// Never waits: who is told Full asks again later. What is not accepted is left as it was.
  [[nodiscard]] Posted post(Request&& request, Kind kind = Kind::Ordinary) {
    {
      const std::lock_guard lock(mutex_);
      if (is_closed_) {
        return Posted::Closed;
      }
      const std::size_t reserved = kind == Kind::Reserved ? options_.reserved : 0;
      if (waiting_.size() >= options_.waiting_max + reserved) {
        return Posted::Full;
      }
      waiting_.push_back(std::move(request));
    }
    arrived_.notify_one();
    return Posted::Accepted;
  }

  /// The oldest requests, in the order they came, as soon as there is one; none if the deadline
  /// passes first, or the queue is closed and all were taken.
  [[nodiscard]] std::vector<Request> take_batch(Deadline deadline) {
    std::unique_lock lock(mutex_);
    const auto is_due = [this] { return is_closed_ || !waiting_.empty(); };
    if (deadline == Deadline::max()) {
      arrived_.wait(lock, is_due);  // Waiting until the end of time overflows in some libraries.
    } else {
      arrived_.wait_until(lock, deadline, is_due);
    }
    const std::size_t count = std::min(waiting_.size(), options_.batch_max);
    const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(count);
    std::vector<Request> batch(std::make_move_iterator(waiting_.begin()),
                               std::make_move_iterator(end));
    waiting_.erase(waiting_.begin(), end);
    return batch;
  }

  /// Nothing more is accepted; what waits can still be taken.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      is_closed_ = true;
    }
    arrived_.notify_all();
  }

  [[nodiscard]] bool is_closed() const {
    const std::lock_guard lock(mutex_);
    return is_closed_;
  }
  [[nodiscard]] std::size_t waiting() const {
    const std::lock_guard lock(mutex_);
    return waiting_.size();
  }

 private:
  const CommitQueueOptions options_;
  mutable std::mutex mutex_{};
  std::condition_variable arrived_{};
  std::deque<Request> waiting_{};
  bool is_closed_ = false;
};

struct RetryPauses {
  std::chrono::milliseconds first{100};
  std::chrono::milliseconds longest{5'000};  // Each is twice the one before, up to this.
};

/// Appends the same batch again until it is on disk: the controller has already taken the inputs in
/// and cannot go back, so nothing else may be journalled, and no effect released, before them.
/// `wait` is told of each failure, waits, and says whether to go on; if not, the error is returned.
[[nodiscard]] Status append_until_durable(
    const std::function<Status(std::span<JournalItem>)>& append, std::span<JournalItem> batch,
    const std::function<bool(const Error&, std::chrono::milliseconds)>& wait,
    RetryPauses pauses = {});

}  // namespace rubato
