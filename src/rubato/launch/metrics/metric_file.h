// The file in which the metrics of one job are kept: one line per point, `SEQUENCE STEP VALUE
// NAME`. It is appended to, and written anew when it holds much more than the series that it is
// for. Whoever may see the job's log may see it, and survives what that survives.
#pragma once

#include <cstddef>
#include <string>

#include "rubato/base/result.h"
#include "rubato/launch/metrics/metric_series.h"

namespace rubato::launch::metrics {

inline constexpr std::size_t kMetricFileBytesMax = std::size_t{64} << 20U;

/// What a file was found to be.
struct MetricFileRead {
  std::size_t lines = 0;
  bool is_torn = false;  // Its last line has no end, or something else is wrong with it.
};

/// Adds what the file holds. A missing file is empty, lines that are no points are passed over;
/// what is no plain file is an error: the job's program may have put something else in its place.
[[nodiscard]] Result<MetricFileRead> read_metrics(const std::string& path, MetricSeries& series);

/// Writes such a file, for one writer.
class MetricFile {
 public:
  explicit MetricFile(std::string path) : path_(std::move(path)) {}

  /// Takes what an earlier writer has left; the file is then gone on with.
  [[nodiscard]] Status load(MetricSeries& series);
  /// Writes it with the next `write`.
  void append(const std::string& name, const MetricPoint& point);
  /// The next `write` replaces the whole file.
  void write_all_next() { is_to_write_anew_ = true; }
  /// What was appended, or all of `series` if that is due. After a failure all is written next
  /// time.
  [[nodiscard]] Status write(const MetricSeries& series);

 private:
  [[nodiscard]] Status write_anew(const MetricSeries& series);

  std::string path_;
  std::string waiting_{};
  std::size_t lines_ = 0;  // Of the file, with those that wait.
  bool is_to_write_anew_ = false;
};

}  // namespace rubato::launch::metrics
