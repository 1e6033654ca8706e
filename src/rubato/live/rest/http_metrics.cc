#include "rubato/live/rest/http_metrics.h"

#include <algorithm>
#include <array>

namespace rubato {

void HttpMetrics::observe(std::string_view method, std::string_view route, int status,
                          double seconds) {
  constexpr std::array<std::string_view, 7> kMethods = {"GET",   "HEAD",   "POST",   "PUT",
                                                        "PATCH", "DELETE", "OPTIONS"};
  const bool is_known = std::ranges::find(kMethods, method) != kMethods.end();
  const std::string route_label(route.empty() ? "none" : route);
  const std::lock_guard lock(mutex_);
  ++requests_[{std::string(is_known ? method : "other"), route_label, status}];
  const auto found = seconds_.try_emplace(
      route_label,
      std::vector<double>{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5});
  found.first->second.observe(seconds);
}

std::string HttpMetrics::text() const {
  const std::lock_guard lock(mutex_);
  MetricsText metrics;
  metrics.begin_counter("rubato_http_requests_total", "HTTP requests answered.");
  for (const auto& [labels, count] : requests_) {
    const auto& [method, route, status] = labels;
    metrics.add({{"method", method}, {"route", route}, {"code", std::to_string(status)}},
                static_cast<double>(count));
  }
  metrics.begin_histogram("rubato_http_request_duration_seconds",
                          "From the last byte of a request to its answer.");
  for (const auto& [route, counts] : seconds_) {
    metrics.add({{"route", route}}, counts);
  }
  return metrics.text();
}

}  // namespace rubato
