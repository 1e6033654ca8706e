// How long a server has been away, for readers that wait for it to come back.
#pragma once

#include <chrono>
#include <optional>

#include "rubato/base/time.h"

namespace rubato {

class ServerAbsence {
 public:
  explicit ServerAbsence(Duration give_up) : give_up_(give_up) {}

  void end() { since_.reset(); }
  /// Notes that the server is away; true if it has been so for too long.
  [[nodiscard]] bool is_too_long() {
    const auto now = std::chrono::steady_clock::now();
    since_ = since_.value_or(now);
    return now - *since_ >= give_up_;
  }

 private:
  Duration give_up_;
  std::optional<std::chrono::steady_clock::time_point> since_{};
};

}  // namespace rubato
