#include "rubato/metrics/summary.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "rubato/metrics/fairness.h"
#include "rubato/metrics/percentile.h"
#include "rubato/metrics/samples.h"
#include "rubato/metrics/use_integral.h"

namespace rubato {
namespace {

// `part / whole`, or `otherwise` when there is no whole.
double ratio(double part, double whole, double otherwise) {
  return whole > 0 ? part / whole : otherwise;
}

void count_jobs(const History& history, Summary& summary) {
  for (const JobRecord& job : history.jobs) {
    ++summary.jobs;
    summary.admitted += job.admitted ? 1 : 0;
    summary.refused += job.refused ? 1 : 0;
    summary.finished += job.finished() ? 1 : 0;
    summary.promises += job.promised != kNever ? 1 : 0;
    summary.promises_broken += job.broke_promise() ? 1 : 0;
    summary.total_value += job.value;
    summary.value_offered += job.value_offered;
    summary.resizes += job.resizes;
    summary.migrations += job.migrations;
    summary.restarts += job.restarts;
  }
}

void count_deadlines(const History& history, Summary& summary) {
  long feasible = 0;
  double gpu_seconds = 0;
  double gpu_seconds_met = 0;
  for (const JobRecord& job : history.jobs) {
    if (!is_deadline_job(job)) {
      continue;
    }
    const double weight = job.requested * job.requested_seconds;
    ++summary.deadline_jobs;
    feasible += job.feasible_alone ? 1 : 0;
    gpu_seconds += weight;
    if (job.met_deadline()) {
      ++summary.deadline_met;
      gpu_seconds_met += weight;
    }
  }
  const auto all = static_cast<double>(summary.deadline_jobs);
  summary.deadline_met_ratio = ratio(static_cast<double>(summary.deadline_met), all, 1);
  summary.deadline_upper_bound = ratio(static_cast<double>(feasible), all, 1);
  // Without known weights all jobs weigh the same.
  summary.deadline_met_gpu_hours_ratio =
      ratio(gpu_seconds_met, gpu_seconds, summary.deadline_met_ratio);
}

void measure_quotes(const History& history, Summary& summary) {
  std::vector<double> errors;
  for (const JobRecord& job : history.jobs) {
    if (job.finished() && job.quoted != kNever && job.quoted > job.arrival) {
      errors.push_back(std::abs(to_seconds(job.finish - job.quoted)) /
                       to_seconds(job.quoted - job.arrival));
    }
  }
  std::ranges::sort(errors);
  summary.quote_error_p50 = percentile(errors, 50);
  summary.quote_error_p90 = percentile(errors, 90);
}

void measure_times(const History& history, Summary& summary) {
  const std::vector<double> jcts = sorted_jcts(history);
  summary.jct_avg_seconds = mean(jcts);
  summary.jct_p50_seconds = percentile(jcts, 50);
  summary.jct_p99_seconds = percentile(jcts, 99);
  const std::vector<double> slowdowns = sorted_slowdowns(history);
  summary.slowdown_avg = mean(slowdowns);
  summary.slowdown_p99 = percentile(slowdowns, 99);

  Instant first = kNever;
  Instant last = Instant::min();
  std::vector<double> best_effort;
  for (const JobRecord& job : history.jobs) {
    first = std::min(first, job.arrival);
    if (job.finished()) {
      last = std::max(last, job.finish);
      if (job.job_class == JobClass::BestEffort) {
        best_effort.push_back(to_seconds(job.finish - job.arrival));
      }
    }
  }
  summary.best_effort_jct_avg_seconds = mean(best_effort);
  summary.makespan_seconds = last > first ? to_seconds(last - first) : 0;
}

void measure_fairness(const History& history, const UseIntegral& use, Summary& summary) {
  std::vector<double> rhos;
  for (const JobRecord& job : history.jobs) {
    if (const double rho = finish_time_fairness(job, use); rho > 0) {
      rhos.push_back(rho);
    }
  }
  std::ranges::sort(rhos);
  summary.finish_time_fairness_max = rhos.empty() ? 0 : rhos.back();
  summary.finish_time_fairness_avg = mean(rhos);
  summary.finish_time_fairness_p99 = percentile(rhos, 99);
  const auto fair = std::ranges::upper_bound(rhos, kFairRho) - rhos.begin();
  summary.fair_ratio =
      ratio(static_cast<double>(fair), static_cast<double>(history.jobs.size()), 1);
}

void measure_use(const History& history, Summary& summary) {
  const UseIntegral use(history.use);
  const UseSum whole = use.over(history.start, history.end);
  summary.gpu_utilization = ratio(whole.gpu_seconds_used, whole.gpu_seconds_up, 0);
  summary.cluster_efficiency = ratio(whole.efficiency_seconds, whole.up_seconds, 0);
  measure_fairness(history, use, summary);
}

}  // namespace

bool is_deadline_job(const JobRecord& job) {
  return job.job_class != JobClass::BestEffort && job.deadline != kNever;
}

Summary summarize(const History& history) {
  Summary summary;
  count_jobs(history, summary);
  count_deadlines(history, summary);
  measure_quotes(history, summary);
  measure_times(history, summary);
  measure_use(history, summary);
  summary.decisions = history.decisions;
  summary.rounds = history.rounds;
  return summary;
}

}  // namespace rubato
