#include "rubato/metrics/columns.h"

#include <array>

namespace rubato {
namespace {

constexpr auto kHigher = Better::Higher;
constexpr auto kLower = Better::Lower;
constexpr auto kNeither = Better::Neither;

constexpr std::array kColumns{
    SummaryColumn{"jobs", &Summary::jobs, Unit::Count, kNeither, true},
    SummaryColumn{"admitted", &Summary::admitted, Unit::Count, kHigher, true},
    SummaryColumn{"refused", &Summary::refused, Unit::Count, kLower, true},
    SummaryColumn{"finished", &Summary::finished, Unit::Count, kHigher, true},
    SummaryColumn{"deadline_jobs", &Summary::deadline_jobs, Unit::Count, kNeither, true},
    SummaryColumn{"deadline_met", &Summary::deadline_met, Unit::Count, kHigher, true},
    SummaryColumn{"deadline_met_ratio", &Summary::deadline_met_ratio, Unit::Ratio, kHigher, true},
    SummaryColumn{"deadline_upper_bound", &Summary::deadline_upper_bound, Unit::Ratio, kNeither,
                  true},
    SummaryColumn{"promises_broken", &Summary::promises_broken, Unit::Count, kLower, true},
    SummaryColumn{"jct_avg_seconds", &Summary::jct_avg_seconds, Unit::Seconds, kLower, true},
    SummaryColumn{"jct_p50_seconds", &Summary::jct_p50_seconds, Unit::Seconds, kLower, true},
    SummaryColumn{"jct_p99_seconds", &Summary::jct_p99_seconds, Unit::Seconds, kLower, true},
    SummaryColumn{"makespan_seconds", &Summary::makespan_seconds, Unit::Seconds, kLower, true},
    SummaryColumn{"gpu_utilization", &Summary::gpu_utilization, Unit::Ratio, kHigher, true},
    SummaryColumn{"cluster_efficiency", &Summary::cluster_efficiency, Unit::Ratio, kHigher, true},
    SummaryColumn{"finish_time_fairness_max", &Summary::finish_time_fairness_max, Unit::Times,
                  kLower, true},
    SummaryColumn{"total_value", &Summary::total_value, Unit::Count, kHigher, true},
    SummaryColumn{"resizes", &Summary::resizes, Unit::Count, kLower, true},
    SummaryColumn{"migrations", &Summary::migrations, Unit::Count, kLower, true},
    SummaryColumn{"decisions", &Summary::decisions, Unit::Count, kNeither, true},
    SummaryColumn{"rounds", &Summary::rounds, Unit::Count, kNeither, false},
    SummaryColumn{"promises", &Summary::promises, Unit::Count, kNeither, false},
    SummaryColumn{"deadline_met_gpu_hours_ratio", &Summary::deadline_met_gpu_hours_ratio,
                  Unit::Ratio, kHigher, false},
    SummaryColumn{"best_effort_jct_avg_seconds", &Summary::best_effort_jct_avg_seconds,
                  Unit::Seconds, kLower, false},
    SummaryColumn{"finish_time_fairness_avg", &Summary::finish_time_fairness_avg, Unit::Times,
                  kLower, false},
    SummaryColumn{"finish_time_fairness_p99", &Summary::finish_time_fairness_p99, Unit::Times,
                  kLower, false},
    SummaryColumn{"fair_ratio", &Summary::fair_ratio, Unit::Ratio, kHigher, false},
    SummaryColumn{"value_offered", &Summary::value_offered, Unit::Count, kNeither, false},
    SummaryColumn{"restarts", &Summary::restarts, Unit::Count, kLower, false},
    SummaryColumn{"slowdown_avg", &Summary::slowdown_avg, Unit::Times, kLower, false},
    SummaryColumn{"slowdown_p99", &Summary::slowdown_p99, Unit::Times, kLower, false},
    SummaryColumn{"quote_error_p50", &Summary::quote_error_p50, Unit::Ratio, kLower, false},
    SummaryColumn{"quote_error_p90", &Summary::quote_error_p90, Unit::Ratio, kLower, false},
};

}  // namespace

std::span<const SummaryColumn> summary_columns() { return kColumns; }

double value_of(const Summary& summary, const SummaryColumn& column) {
  return std::visit([&](auto field) { return static_cast<double>(summary.*field); }, column.field);
}

}  // namespace rubato
