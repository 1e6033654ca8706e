#include "rubato/metrics/columns.h"

#include <array>

namespace rubato {
namespace {

constexpr auto kHigher = Better::Higher;
constexpr auto kLower = Better::Lower;
constexpr auto kNeither = Better::Neither;

constexpr std::array kColumns{
    Column{"jobs", &Summary::jobs, Unit::Count, kNeither, true},
    Column{"admitted", &Summary::admitted, Unit::Count, kHigher, true},
    Column{"refused", &Summary::refused, Unit::Count, kLower, true},
    Column{"finished", &Summary::finished, Unit::Count, kHigher, true},
    Column{"deadline_jobs", &Summary::deadline_jobs, Unit::Count, kNeither, true},
    Column{"deadline_met", &Summary::deadline_met, Unit::Count, kHigher, true},
    Column{"deadline_met_ratio", &Summary::deadline_met_ratio, Unit::Ratio, kHigher, true},
    Column{"deadline_upper_bound", &Summary::deadline_upper_bound, Unit::Ratio, kNeither, true},
    Column{"promises_broken", &Summary::promises_broken, Unit::Count, kLower, true},
    Column{"jct_avg_seconds", &Summary::jct_avg_seconds, Unit::Seconds, kLower, true},
    Column{"jct_p50_seconds", &Summary::jct_p50_seconds, Unit::Seconds, kLower, true},
    Column{"jct_p99_seconds", &Summary::jct_p99_seconds, Unit::Seconds, kLower, true},
    Column{"makespan_seconds", &Summary::makespan_seconds, Unit::Seconds, kLower, true},
    Column{"gpu_utilization", &Summary::gpu_utilization, Unit::Ratio, kHigher, true},
    Column{"cluster_efficiency", &Summary::cluster_efficiency, Unit::Ratio, kHigher, true},
    Column{"finish_time_fairness_max", &Summary::finish_time_fairness_max, Unit::Times, kLower,
           true},
    Column{"total_value", &Summary::total_value, Unit::Count, kHigher, true},
    Column{"resizes", &Summary::resizes, Unit::Count, kLower, true},
    Column{"migrations", &Summary::migrations, Unit::Count, kLower, true},
    Column{"decisions", &Summary::decisions, Unit::Count, kNeither, true},
    Column{"rounds", &Summary::rounds, Unit::Count, kNeither, false},
    Column{"promises", &Summary::promises, Unit::Count, kNeither, false},
    Column{"deadline_met_gpu_hours_ratio", &Summary::deadline_met_gpu_hours_ratio, Unit::Ratio,
           kHigher, false},
    Column{"best_effort_jct_avg_seconds", &Summary::best_effort_jct_avg_seconds, Unit::Seconds,
           kLower, false},
    Column{"finish_time_fairness_avg", &Summary::finish_time_fairness_avg, Unit::Times, kLower,
           false},
    Column{"finish_time_fairness_p99", &Summary::finish_time_fairness_p99, Unit::Times, kLower,
           false},
    Column{"fair_ratio", &Summary::fair_ratio, Unit::Ratio, kHigher, false},
    Column{"value_offered", &Summary::value_offered, Unit::Count, kNeither, false},
    Column{"restarts", &Summary::restarts, Unit::Count, kLower, false},
    Column{"slowdown_avg", &Summary::slowdown_avg, Unit::Times, kLower, false},
    Column{"slowdown_p99", &Summary::slowdown_p99, Unit::Times, kLower, false},
};

}  // namespace

std::span<const Column> summary_columns() { return kColumns; }

double value_of(const Summary& summary, const Column& column) {
  return std::visit([&](auto field) { return static_cast<double>(summary.*field); }, column.field);
}

}  // namespace rubato
