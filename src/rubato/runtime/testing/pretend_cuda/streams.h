// The streams of pretended devices. Kernels run when they are launched; copies that need not be
// finished when the call returns are kept back, if the switch is set, until something has to wait
// for them. That is a schedule a real device may choose, and the worst one: who forgets to wait
// sees it.

#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>

namespace rubato::runtime::testing {

struct StreamName {
  int device = 0;
  std::int64_t id = 0;  // 0 is the default stream.
  auto operator<=>(const StreamName&) const = default;
};

/// A place in a stream's work: all that was enqueued before it.
struct StreamMark {
  StreamName stream{};
  std::uint64_t position = 0;
};

/// The work that was kept back, stream by stream.
class StreamQueues {
 public:
  void set_late(bool late) { late_ = late; }
  [[nodiscard]] bool late() const { return late_; }

  /// Runs the work now, or later in the order of this stream.
  void enqueue(const StreamName& stream, std::function<void()> work);
  /// What is enqueued in the stream from now on happens after the mark.
  void wait(const StreamName& stream, const StreamMark& mark);

  [[nodiscard]] StreamMark mark(const StreamName& stream);
  [[nodiscard]] bool is_reached(const StreamMark& mark);
  void reach(const StreamMark& mark);
  void finish(const StreamName& stream) { reach(mark(stream)); }
  void finish_device(int device);

  /// Around a fork, so that the child never finds the lock taken.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  struct Queue {
    std::deque<std::function<void()>> waiting{};
    std::uint64_t done = 0;
  };

  // With the lock taken. Work that waits for another stream calls it again.
  void run_until(const StreamMark& mark);

  std::atomic<bool> late_ = false;
  std::mutex mutex_{};
  std::map<StreamName, Queue> queues_{};
};

}  // namespace rubato::runtime::testing
