// What happens next in virtual time: ordered by time, then by kind, then by id.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "rubato/base/time.h"
#include "rubato/core/event.h"

namespace rubato {

/// Kinds in the order in which events of one instant are handled.
enum class DueKind { Completion, Epoch, Fault, Report, Arrival, Tick };

struct Due {
  Instant at{};
  DueKind kind = DueKind::Tick;
  std::uint64_t id = 0;       // Job or fault number.
  std::uint64_t version = 0;  // Stale if its job has changed since.

  friend auto operator<=>(const Due&, const Due&) = default;
};

/// A heap; whoever takes an entry out checks whether it is stale.
class EventQueue {
 public:
  void push(const Due& due) { heap_.push(due); }
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] const Due& top() const { return heap_.top(); }
  void pop() { heap_.pop(); }
  [[nodiscard]] std::size_t size() const { return heap_.size(); }

 private:
  std::priority_queue<Due, std::vector<Due>, std::greater<>> heap_;
};

}  // namespace rubato
