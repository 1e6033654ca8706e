// How many requests the HTTP server had and how long they took.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>

#include "rubato/live/service/metrics_text.h"

namespace rubato {

/// May be used from any thread. Its labels are bounded: routes are patterns, not paths.
class HttpMetrics {
 public:
  /// `route` is empty if no route was found.
  void observe(std::string_view method, std::string_view route, int status, double seconds);
  [[nodiscard]] std::string text() const;

 private:
  mutable std::mutex mutex_{};
  std::map<std::tuple<std::string, std::string, int>, std::uint64_t> requests_{};
  std::map<std::string, HistogramCounts> seconds_{};
};

}  // namespace rubato
