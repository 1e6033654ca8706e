#include "rubato/launch/metrics/job_metrics.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "rubato/launch/metrics/printed_metrics.h"

namespace rubato::launch::metrics {
namespace {

constexpr unsigned kCounterBits = 32;  // Points under one order; the order's number is above.
constexpr std::string_view kOurWords = "rubato: ";  // Before what we say in the script's process.
constexpr int kInterjectionsMax = 20;  // Lines with metrics; then another worker is listened to.
constexpr std::int64_t kStepMax = 9'007'199'254'740'992;  // That a double can hold.

}  // namespace

JobMetrics::JobMetrics(const JobMetricsOptions& options)
    : sequence_(options.order << kCounterBits) {
  if (!options.path.empty()) {
    file_.emplace(options.path);
    [[maybe_unused]] const Status loaded = file_->load(series_);  // Else it is written anew.
    sequence_ = std::max(sequence_, series_.last_sequence());
    told_ = series_.last_sequence();  // Whoever wants to hear older ones reads the file.
  }
  if (auto rule = parse_until(options.until)) {
    until_.emplace(*std::move(rule));
  }
}

void JobMetrics::add(Metric metric) {
  metric.value = clean_value(metric.value);
  metric.step = std::clamp<std::int64_t>(metric.step, 0, kStepMax);
  if (!series_.add(metric, ++sequence_)) {
    return;
  }
  if (file_) {
    file_->append(metric.name, {.sequence = sequence_, .step = metric.step, .value = metric.value});
  }
  if (until_ && !reached_) {
    reached_ = until_->take(metric);
  }
}

void JobMetrics::log(std::string_view name, double value, std::int64_t step) {
  std::string clean = clean_name(name);
  if (reported_.size() < kNamesMax) {
    reported_.insert(clean);
  }
  add({.name = std::move(clean), .value = value, .step = step});
}

void JobMetrics::read_line(std::uint64_t worker, std::string_view line) {
  if (line.starts_with(kOurWords)) {
    return;
  }
  auto numbers = printed_metrics(line);
  if (numbers.empty()) {
    return;
  }
  if (speaker_ != worker) {
    if (speaker_ && ++interjections_ < kInterjectionsMax) {
      return;
    }
    speaker_ = worker;
  }
  interjections_ = 0;
  for (PrintedNumber& number : numbers) {
    if (!reported_.contains(number.name)) {
      const std::int64_t step = step_ > 0 ? step_ : reports_of(number.name);
      add({.name = std::move(number.name), .value = number.value, .step = step});
    }
  }
}

std::int64_t JobMetrics::reports_of(const std::string& name) const {
  const auto found = series_.names().find(name);
  return found == series_.names().end() ? 0 : static_cast<std::int64_t>(found->second.count());
}

std::optional<std::string> JobMetrics::take_end(double steps_max) {
  if (!reached_) {
    return std::nullopt;
  }
  // Steps of the job: a script may count those of its metrics otherwise.
  const UntilReached reached{.value = reached_->value, .step = step_};
  reached_.reset();
  return until_note(until_->rule(), reached, steps_max);
}

std::string JobMetrics::take_warning() {
  if (series_.dropped() > 0 && !std::exchange(is_drop_told_, true)) {
    return fmt::format("the job has more than {} metrics; others are left out", kNamesMax);
  }
  return until_ ? until_->take_warning() : std::string{};
}

void JobMetrics::save() {
  if (file_) {
    [[maybe_unused]] const Status written = file_->write(series_);
  }
}

bool JobMetrics::take_news(wire::JobMetrics& news) {
  told_ = fill_message(series_, told_, news);
  return news.points_size() > 0;
}

void add_points(const wire::JobMetrics& message, MetricSeries& series,
                const std::function<void(const std::string& name, const MetricPoint&)>& on_new) {
  for (const wire::MetricPoint& point : message.points()) {
    const Metric metric{.name = clean_name(point.name()),
                        .value = clean_value(point.value()),
                        .step = std::clamp<std::int64_t>(point.step(), 0, kStepMax)};
    if (series.add(metric, point.sequence())) {
      on_new(metric.name,
             {.sequence = point.sequence(), .step = metric.step, .value = metric.value});
    }
  }
}

std::uint64_t fill_message(const MetricSeries& series, std::uint64_t after,
                           wire::JobMetrics& message) {
  return series.visit_after(after, kPointsPerMessage,
                            [&](const std::string& name, const MetricPoint& point) {
                              wire::MetricPoint& added = *message.add_points();
                              added.set_name(name);
                              added.set_value(point.value);
                              added.set_step(point.step);
                              added.set_sequence(point.sequence);
                            });
}

}  // namespace rubato::launch::metrics
