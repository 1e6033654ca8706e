// Metrics of all jobs, for those who ask. They decide nothing, so the controller and the journal
// know nothing of them.
//
// The process that runs a job keeps its metrics in a file beside the job's log. Where that file can
// be seen from here, as that of every job of this machine can, it is read when somebody asks, and
// what agents tell keeps the copy in memory up to date. Metrics of jobs elsewhere are written to a
// file here, so that they too outlive a restart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "rubato/core/ids.h"
#include "rubato/launch/metrics/metric_file.h"
#include "rubato/launch/metrics/metric_series.h"
#include "rubato/wire/agent.pb.h"

namespace rubato {

struct MetricStoreOptions {
  std::string state_directory{};
  std::string shared_directory{};          // Of all agents; empty: none.
  std::size_t points_max = 2'000'000;      // In memory, of all jobs together.
  std::size_t file_bytes_max = 8'000'000;  // Of a job elsewhere, before its file is thinned.
};

/// From any thread.
class MetricStore {
 public:
  explicit MetricStore(MetricStoreOptions options) : options_(std::move(options)) {}

  /// What an agent told of a job; what is known already changes nothing.
  void add(JobId job, const wire::JobMetrics& told);
  /// Shows what there is of a job, which may be nothing.
  void look(JobId job,
            const std::function<void(const launch::metrics::MetricSeries& series)>& look);

 private:
  struct Copy {
    launch::metrics::MetricSeries series{};
    std::uint64_t used = 0;  // Number of the last use.
  };

  [[nodiscard]] std::string own_path(JobId job) const;
  [[nodiscard]] bool is_file_seen(JobId job) const;
  [[nodiscard]] Copy& copy_of(JobId job);
  void keep_here(JobId job, const wire::JobMetrics& told);
  void make_room(JobId but);

  MetricStoreOptions options_;
  std::mutex mutex_;
  std::map<JobId, Copy> copies_{};
  std::uint64_t uses_ = 0;
};

}  // namespace rubato
