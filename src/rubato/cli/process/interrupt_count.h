// Ctrl-C, counted instead of obeyed while an object of this class lives.
#pragma once

#include <csignal>

namespace rubato {

/// At most one at a time: signals belong to the process.
class InterruptCount {
 public:
  InterruptCount();
  ~InterruptCount();
  InterruptCount(const InterruptCount&) = delete;
  InterruptCount& operator=(const InterruptCount&) = delete;

  [[nodiscard]] int interrupts() const;
  /// SIGTERM or SIGHUP came.
  [[nodiscard]] bool is_told_to_end() const;

 private:
  struct sigaction before_interrupt_ {};
  struct sigaction before_end_ {};
  struct sigaction before_hangup_ {};
};

}  // namespace rubato
