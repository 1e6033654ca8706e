#include "rubato/report/comparison_columns.h"

#include <algorithm>
#include <array>
#include <vector>

namespace rubato {
namespace {

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

template <auto kField>
double field(const RunReport&, const Summary& summary) {
  return static_cast<double>(summary.*kField);
}

template <auto kField>
double per_admitted(const RunReport&, const Summary& summary) {
  return ratio(static_cast<double>(summary.*kField), static_cast<double>(summary.admitted));
}

double finished_ratio(const RunReport&, const Summary& summary) {
  return ratio(static_cast<double>(summary.finished), static_cast<double>(summary.jobs));
}

double value_ratio(const RunReport&, const Summary& summary) {
  return ratio(summary.total_value, summary.value_offered);
}

double decision_p50(const RunReport& run, const Summary&) { return run.decision_p50_seconds; }
double decision_p99(const RunReport& run, const Summary&) { return run.decision_p99_seconds; }

bool has_deadlines(const Summary& summary) { return summary.deadline_jobs > 0; }
bool has_promises(const Summary& summary) { return summary.promises > 0; }
bool has_best_effort(const Summary& summary) { return summary.best_effort_jct_avg_seconds > 0; }

constexpr auto kHigher = Better::Higher;
constexpr auto kLower = Better::Lower;
constexpr auto kNeither = Better::Neither;

constexpr std::array kSources{
    ColumnSource{"deadline_met_ratio",
                 {"deadlines", "met", "",
                  "Jobs with a deadline that met it; refused jobs count as missed.", kHigher},
                 Unit::Ratio,
                 field<&Summary::deadline_met_ratio>,
                 Shown::Both,
                 Kind::Judged,
                 has_deadlines},
    ColumnSource{"deadline_upper_bound",
                 {"deadlines", "bound", "",
                  "Jobs whose deadline could be met alone on the empty cluster.", kNeither},
                 Unit::Ratio,
                 field<&Summary::deadline_upper_bound>,
                 Shown::Terminal,
                 Kind::Any,
                 has_deadlines},
    ColumnSource{"deadline_met_gpu_hours_ratio",
                 {"deadlines", "by GPU-h", "",
                  "Deadlines met, each weighted by the GPU-hours the job asked for.", kHigher},
                 Unit::Ratio,
                 field<&Summary::deadline_met_gpu_hours_ratio>,
                 Shown::Terminal,
                 Kind::Any,
                 has_deadlines},
    ColumnSource{"promises",
                 {"promises", "made", "", "Finishes promised at admission.", kNeither},
                 Unit::Count,
                 field<&Summary::promises>,
                 Shown::Nowhere,
                 Kind::Any,
                 has_promises},
    ColumnSource{"promises_broken",
                 {"promises", "broken", "", "Promises not kept.", kLower},
                 Unit::Count,
                 field<&Summary::promises_broken>,
                 Shown::Terminal,
                 Kind::Any,
                 has_promises},
    ColumnSource{"admitted",
                 {"jobs", "admitted", "", "Jobs taken on.", kNeither},
                 Unit::Count,
                 field<&Summary::admitted>,
                 Shown::Nowhere,
                 Kind::Any,
                 nullptr},
    ColumnSource{"finished",
                 {"jobs", "finished", "", "Jobs finished; the times are theirs.", kHigher},
                 Unit::Count,
                 field<&Summary::finished>,
                 Shown::Terminal,
                 Kind::Any,
                 nullptr},
    ColumnSource{"finished_ratio",
                 {"jobs", "done", "", "Jobs finished, of all; the times are theirs.", kHigher},
                 Unit::Ratio,
                 finished_ratio,
                 Shown::Tournament,
                 Kind::Any,
                 nullptr},
    ColumnSource{"jct_avg_seconds",
                 {"JCT", "avg", "", "Mean time from arrival to finish, of finished jobs.", kLower},
                 Unit::Seconds,
                 field<&Summary::jct_avg_seconds>,
                 Shown::Both,
                 Kind::JudgedTimes,
                 nullptr},
    ColumnSource{"jct_p50_seconds",
                 {"JCT", "p50", "", "Half of the finished jobs took no longer.", kLower},
                 Unit::Seconds,
                 field<&Summary::jct_p50_seconds>,
                 Shown::Tournament,
                 Kind::Times,
                 nullptr},
    ColumnSource{"jct_p99_seconds",
                 {"JCT", "p99", "", "99% of the finished jobs took no longer.", kLower},
                 Unit::Seconds,
                 field<&Summary::jct_p99_seconds>,
                 Shown::Both,
                 Kind::JudgedTimes,
                 nullptr},
    ColumnSource{"best_effort_jct_avg_seconds",
                 {"JCT", "best effort", "", "Mean JCT of jobs without a deadline.", kLower},
                 Unit::Seconds,
                 field<&Summary::best_effort_jct_avg_seconds>,
                 Shown::Nowhere,
                 Kind::Times,
                 has_best_effort},
    ColumnSource{
        "slowdown_avg",
        {"slowdown", "avg", "", "Mean JCT over the run time alone on the empty cluster.", kLower},
        Unit::Times,
        field<&Summary::slowdown_avg>,
        Shown::Nowhere,
        Kind::Times,
        nullptr},
    ColumnSource{
        "slowdown_p99",
        {"slowdown", "p99", "", "99% of the finished jobs were slowed down no more.", kLower},
        Unit::Times,
        field<&Summary::slowdown_p99>,
        Shown::Nowhere,
        Kind::Times,
        nullptr},
    ColumnSource{"makespan_seconds",
                 {"makespan", "", "", "First arrival to last finish.", kLower},
                 Unit::Seconds,
                 field<&Summary::makespan_seconds>,
                 Shown::Both,
                 Kind::JudgedTimes,
                 nullptr},
    ColumnSource{"gpu_utilization",
                 {"GPUs", "used", "", "GPU time in use, of the GPU time available.", kHigher},
                 Unit::Ratio,
                 field<&Summary::gpu_utilization>,
                 Shown::Both,
                 Kind::Any,
                 nullptr},
    ColumnSource{"cluster_efficiency",
                 {"GPUs", "efficient", "",
                  "Speed-up of all jobs over one GPU each, for each GPU available.", kHigher},
                 Unit::Ratio,
                 field<&Summary::cluster_efficiency>,
                 Shown::Both,
                 Kind::Judged,
                 nullptr},
    ColumnSource{
        "finish_time_fairness_avg",
        {"rho", "avg", "",
         "Mean finish-time fairness (Themis' rho) of finished jobs; 1 is an equal share.", kLower},
        Unit::Times,
        field<&Summary::finish_time_fairness_avg>,
        Shown::Nowhere,
        Kind::Times,
        nullptr},
    ColumnSource{
        "finish_time_fairness_p99",
        {"rho", "p99", "", "99% of the finished jobs were treated no worse than this rho.", kLower},
        Unit::Times,
        field<&Summary::finish_time_fairness_p99>,
        Shown::Tournament,
        Kind::Times,
        nullptr},
    ColumnSource{"finish_time_fairness_max",
                 {"rho", "max", "", "The worst rho of a finished job.", kLower},
                 Unit::Times,
                 field<&Summary::finish_time_fairness_max>,
                 Shown::Nowhere,
                 Kind::Times,
                 nullptr},
    ColumnSource{
        "fair_ratio",
        {"rho", "fair", "",
         "Of all jobs, those done at most a tenth later than with an equal share.", kHigher},
        Unit::Ratio,
        field<&Summary::fair_ratio>,
        Shown::Tournament,
        Kind::Judged,
        nullptr},
    ColumnSource{
        "total_value",
        {"value", "sum", "",
         "Sum of what the jobs were worth when they finished; refused ones nothing.", kHigher},
        Unit::Times,
        field<&Summary::total_value>,
        Shown::Nowhere,
        Kind::Any,
        nullptr},
    ColumnSource{
        "value_ratio",
        {"value", "got", "",
         "The sum of values, over what finishing everything at once would be worth.", kHigher},
        Unit::Ratio,
        value_ratio,
        Shown::Tournament,
        Kind::Judged,
        nullptr},
    ColumnSource{
        "resizes_per_job",
        {"per job", "resizes", "", "Changes of the number of workers, per admitted job.", kNeither},
        Unit::Times,
        per_admitted<&Summary::resizes>,
        Shown::Both,
        Kind::Any,
        nullptr},
    ColumnSource{"restarts_per_job",
                 {"per job", "restarts", "", "Starts after the first, per admitted job.", kNeither},
                 Unit::Times,
                 per_admitted<&Summary::restarts>,
                 Shown::Tournament,
                 Kind::Any,
                 nullptr},
    ColumnSource{"migrations",
                 {"migrations", "", "", "Moves of jobs to other GPUs.", kNeither},
                 Unit::Count,
                 field<&Summary::migrations>,
                 Shown::Nowhere,
                 Kind::Any,
                 nullptr},
    ColumnSource{
        "decision_p50_seconds",
        {"decision", "p50", "", "Half of all scheduling decisions took no longer.", kLower},
        Unit::Seconds,
        decision_p50,
        Shown::Tournament,
        Kind::Any,
        nullptr},
    ColumnSource{"decision_p99_seconds",
                 {"decision", "p99", "", "99% of all scheduling decisions took no longer.", kLower},
                 Unit::Seconds,
                 decision_p99,
                 Shown::Both,
                 Kind::Any,
                 nullptr},
};

// The summaries a run's numbers are means of.
std::span<const Summary> seeds_of(const RunReport& run) {
  return run.seeds.size() > 1 ? std::span<const Summary>(run.seeds)
                              : std::span<const Summary>(&run.summary, 1);
}

// Decision times are of one run only.
bool is_over_seeds(const ColumnSource& source) {
  return source.read != decision_p50 && source.read != decision_p99;
}

}  // namespace

std::span<const ColumnSource> column_sources() { return kSources; }

Measure measure(const ColumnSource& source, const RunReport& run) {
  // One that promises nothing breaks no promise.
  if (!run.failure.empty() ||
      (source.is_needed != nullptr && std::ranges::none_of(seeds_of(run), source.is_needed))) {
    return {};
  }
  std::vector<double> samples;
  for (const Summary& summary : seeds_of(run)) {
    samples.push_back(source.read(run, summary));
  }
  return {.is_known = true,
          .has_width = run.seeds.size() > 1 && is_over_seeds(source),
          .value = confidence_interval(samples)};
}

}  // namespace rubato
