// How long ago something was, for the times that workers report.
#pragma once

#include <chrono>

namespace rubato {

[[nodiscard]] inline double seconds_since(std::chrono::steady_clock::time_point moment) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - moment).count();
}

}  // namespace rubato
