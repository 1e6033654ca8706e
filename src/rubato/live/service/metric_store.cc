#include "rubato/live/service/metric_store.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "rubato/launch/metrics/job_metrics.h"

namespace rubato {
namespace {

using launch::metrics::MetricFile;
using launch::metrics::MetricPoint;
using launch::metrics::MetricSeries;

namespace fs = std::filesystem;

// Where the process that runs the job writes its metrics, as seen from here.
std::array<std::string, 2> job_paths(const MetricStoreOptions& options, JobId job) {
  const std::string name = std::to_string(job.value);
  return {(fs::path(options.state_directory) / "jobs" / name / "logs" / "metrics").string(),
          options.shared_directory.empty()
              ? std::string{}
              : (fs::path(options.shared_directory) / name / "logs" / "metrics").string()};
}

}  // namespace

std::string MetricStore::own_path(JobId job) const {
  return (fs::path(options_.state_directory) / "metrics" / std::to_string(job.value)).string();
}

bool MetricStore::is_file_seen(JobId job) const {
  return std::ranges::any_of(job_paths(options_, job), [](const std::string& path) {
    std::error_code unseen;
    return !path.empty() && fs::exists(path, unseen);
  });
}

MetricStore::Copy& MetricStore::copy_of(JobId job) {
  const auto [found, is_new] = copies_.try_emplace(job);
  Copy& copy = found->second;
  copy.used = ++uses_;
  if (is_new) {
    for (const std::string& path : job_paths(options_, job)) {
      if (!path.empty()) {
        (void)launch::metrics::read_metrics(path,
                                            copy.series);  // One that cannot be read has none.
      }
    }
    (void)launch::metrics::read_metrics(own_path(job), copy.series);
    make_room(job);
  }
  return copy;
}

// Forgets what was not asked for longest; it is in files.
void MetricStore::make_room(JobId but) {
  std::size_t points = 0;
  for (const auto& [id, copy] : copies_) {
    points += copy.series.size();
  }
  while (points > options_.points_max && copies_.size() > 1) {
    auto oldest = copies_.end();
    for (auto each = copies_.begin(); each != copies_.end(); ++each) {
      if (each->first != but &&
          (oldest == copies_.end() || each->second.used < oldest->second.used)) {
        oldest = each;
      }
    }
    points -= oldest->second.series.size();
    copies_.erase(oldest);
  }
}

void MetricStore::add(JobId job, const wire::JobMetrics& told) {
  const std::lock_guard lock(mutex_);
  if (!is_file_seen(job)) {
    keep_here(job, told);
    return;
  }
  // Of a job that nobody has asked for the file will do.
  if (const auto found = copies_.find(job); found != copies_.end()) {
    launch::metrics::add_points(told, found->second.series, [](const auto&, const auto&) {});
  }
}

void MetricStore::keep_here(JobId job, const wire::JobMetrics& told) {
  Copy& copy = copy_of(job);
  std::error_code ignored;
  fs::create_directories(fs::path(own_path(job)).parent_path(), ignored);
  MetricFile file(own_path(job));
  bool has_new = false;
  launch::metrics::add_points(told, copy.series,
                              [&](const std::string& name, const MetricPoint& point) {
                                file.append(name, point);
                                has_new = true;
                              });
  if (!has_new) {
    return;
  }
  if (const auto size = fs::file_size(own_path(job), ignored);
      !ignored && size > options_.file_bytes_max) {
    file.write_all_next();
  }
  (void)file.write(copy.series);  // A disk that is full costs these points, and nothing else.
}

void MetricStore::look(JobId job, const std::function<void(const MetricSeries& series)>& look) {
  const std::lock_guard lock(mutex_);
  look(copy_of(job).series);
}

}  // namespace rubato
