// Numbers for Prometheus, in its text format 0.0.4.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rubato {

/// Counts of observations up to each bound.
class HistogramCounts {
 public:
  /// Bounds rise strictly; what exceeds the last is counted too.
  explicit HistogramCounts(std::vector<double> bounds);

  void observe(double value);

  [[nodiscard]] const std::vector<double>& bounds() const { return bounds_; }
  /// One more than bounds; each counts only what the one before does not.
  [[nodiscard]] const std::vector<std::uint64_t>& counts() const { return counts_; }
  [[nodiscard]] double sum() const { return sum_; }

 private:
  std::vector<double> bounds_;
  std::vector<std::uint64_t> counts_;
  double sum_ = 0;
};

/// Pairs of name and value; values may hold any text.
using MetricLabels = std::vector<std::pair<std::string_view, std::string_view>>;

/// Writes one family after the other: begin it, then add its samples. Names are ours, so a bad one
/// stops the process; families must differ.
class MetricsText {
 public:
  /// The name ends in `_total`.
  void begin_counter(std::string_view name, std::string_view help);
  void begin_gauge(std::string_view name, std::string_view help);
  void begin_histogram(std::string_view name, std::string_view help);

  /// Of a counter or gauge.
  void add(const MetricLabels& labels, double value);
  void add(const MetricLabels& labels, const HistogramCounts& counts);

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  enum class Kind { None, Single, Histogram };
  void begin(std::string_view name, std::string_view help, std::string_view type);

  Kind kind_ = Kind::None;
  std::string name_{};
  std::string text_{};
};

}  // namespace rubato
