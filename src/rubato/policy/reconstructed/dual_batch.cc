#include "rubato/policy/reconstructed/dual_batch.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rubato::policy::reconstructed {
namespace {

// Fewer would divide by zero; a single light job needs no more.
constexpr double kGammaMin = 1.5;
constexpr int kWindowsMax = 64;

}  // namespace

BatchBases bases_of(std::span<const BatchJob> jobs) {
  BatchBases bases;
  for (const BatchJob& job : jobs) {
    bases.workers = std::max(bases.workers, 1 + job.weight / job.worker_slots);
    if (job.server_slots > 0) {
      bases.servers = std::max(bases.servers, 1 + job.weight / job.server_slots);
    }
  }
  return bases;
}

double gamma_of(const BatchBases& bases) {
  return std::max(kGammaMin, 2 * std::log2(std::max(bases.workers, bases.servers)));
}

int windows_of(std::span<const BatchJob> jobs, double gamma) {
  double total = 0;
  double least = std::numeric_limits<double>::infinity();
  for (const BatchJob& job : jobs) {
    total += job.weight;
    least = std::min(least, job.weight);
  }
  if (!(total > 0 && least > 0)) {
    return jobs.empty() ? 0 : kWindowsMax;
  }
  const double windows = std::log(total / least) / std::log(gamma / (gamma - 1));
  return static_cast<int>(std::min<double>(kWindowsMax, std::floor(windows) + 1));
}

std::vector<JobId> schedule_batch(std::vector<BatchJob> jobs, Instant start, Duration length,
                                  const BatchRules& rules) {
  const int windows = windows_of(jobs, gamma_of(bases_of(jobs)));
  std::ranges::stable_sort(jobs, std::ranges::greater{},
                           [](const BatchJob& job) { return job.weight / job.worker_slots; });
  for (int i = 0; i < windows && !jobs.empty(); ++i) {
    const Instant from = later(start, i * length);
    const planning::TimeWindow window{.from = from, .to = later(from, length)};
    std::vector<BatchJob> left;
    for (const BatchJob& job : jobs) {
      const auto cost = rules.quote(job.job, window);
      if (cost && *cost < job.weight) {
        rules.accept(job.job);
      } else {
        left.push_back(job);
      }
    }
    jobs = std::move(left);
  }
  std::vector<JobId> left;
  left.reserve(jobs.size());
  for (const BatchJob& job : jobs) {
    left.push_back(job.job);
  }
  return left;
}

}  // namespace rubato::policy::reconstructed
