#include "rubato/runtime/testing/pretend_cuda/streams.h"

#include <utility>

namespace rubato::runtime::testing {

void StreamQueues::enqueue(const StreamName& stream, std::function<void()> work) {
  const std::lock_guard guard(mutex_);
  Queue& queue = queues_[stream];
  queue.waiting.push_back(std::move(work));
  if (!late_) {
    run_until({.stream = stream, .position = queue.done + queue.waiting.size()});
  }
}

void StreamQueues::wait(const StreamName& stream, const StreamMark& mark) {
  if (stream != mark.stream) {
    enqueue(stream, [this, mark] { run_until(mark); });
  }
}

StreamMark StreamQueues::mark(const StreamName& stream) {
  const std::lock_guard guard(mutex_);
  const Queue& queue = queues_[stream];
  return {.stream = stream, .position = queue.done + queue.waiting.size()};
}

bool StreamQueues::is_reached(const StreamMark& mark) {
  const std::lock_guard guard(mutex_);
  return queues_[mark.stream].done >= mark.position;
}

void StreamQueues::reach(const StreamMark& mark) {
  const std::lock_guard guard(mutex_);
  run_until(mark);
}

void StreamQueues::run_until(const StreamMark& mark) {
  Queue& queue = queues_[mark.stream];
  while (queue.done < mark.position) {
    const std::function<void()> work = std::move(queue.waiting.front());
    queue.waiting.pop_front();
    ++queue.done;
    work();
  }
}

void StreamQueues::finish_device(int device) {
  const std::lock_guard guard(mutex_);
  for (const auto& [stream, queue] : queues_) {
    if (stream.device == device) {
      run_until({.stream = stream, .position = queue.done + queue.waiting.size()});
    }
  }
}

}  // namespace rubato::runtime::testing
