// All metrics of one job that is being run: what its program reports by itself and what it prints,
// kept in a file beside its log, told on, and watched for the rule that ends the job early.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "rubato/launch/metrics/metric_file.h"
#include "rubato/launch/metrics/metric_series.h"
#include "rubato/launch/metrics/until_rule.h"
#include "rubato/wire/agent.pb.h"

namespace rubato::launch::metrics {

inline constexpr std::size_t kPointsPerMessage = 1000;

struct JobMetricsOptions {
  std::string path{};       // Of the file; empty: none.
  std::uint64_t order = 0;  // Under which the job is run now: sequence numbers begin with it.
  std::string until{};      // What is no rule is none.
};

/// Used from one thread.
class JobMetrics {
 public:
  explicit JobMetrics(const JobMetricsOptions& options);

  /// Steps that are committed: printed lines belong to them. As long as there are none, as with
  /// programs that do not tell them, the reports of each metric are counted instead.
  /// Zero after others says nothing: a file of progress is empty while it is written.
  void set_step(std::int64_t step) { step_ = step > 0 ? step : step_; }
  /// The program reports it by itself.
  void log(std::string_view name, double value, std::int64_t step);
  /// A worker has printed a line. Where several print metrics only one of them is listened to, and
  /// what is reported under the same name counts more than what is printed.
  void read_line(std::uint64_t worker, std::string_view line);

  /// Why the job should end now, once its rule came true; nothing otherwise, and only once. Zero
  /// steps at most: not known.
  [[nodiscard]] std::optional<std::string> take_end(double steps_max);
  /// What the user should know, once each; empty: nothing.
  [[nodiscard]] std::string take_warning();

  /// Writes what is new to the file. Metrics are no reason to stop a job: a disk that is full is
  /// tried again the next time.
  void save();
  /// What was not told yet, up to a limit; false if there is nothing.
  [[nodiscard]] bool take_news(wire::JobMetrics& news);

  [[nodiscard]] const MetricSeries& series() const { return series_; }

 private:
  void add(Metric metric);
  [[nodiscard]] std::int64_t reports_of(const std::string& name) const;

  MetricSeries series_{};
  std::optional<MetricFile> file_{};
  std::optional<UntilWatch> until_{};
  std::optional<UntilReached> reached_{};  // Not told yet.
  std::int64_t step_ = 0;
  std::uint64_t sequence_ = 0;  // Of the last point.
  std::uint64_t told_ = 0;
  std::set<std::string, std::less<>> reported_{};  // Names that the program reports by itself.
  std::optional<std::uint64_t> speaker_{};         // The worker whose lines count.
  int interjections_ = 0;                          // Of others since it last printed a metric.
  bool is_drop_told_ = false;
};

/// Adds the points of a message from another process, as far as they can be.
void add_points(const wire::JobMetrics& message, MetricSeries& series,
                const std::function<void(const std::string& name, const MetricPoint&)>& on_new);

/// The points of a series after a sequence number as a message, up to a limit; the number of the
/// last.
std::uint64_t fill_message(const MetricSeries& series, std::uint64_t after,
                           wire::JobMetrics& message);

}  // namespace rubato::launch::metrics
