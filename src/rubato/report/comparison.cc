#include "rubato/report/comparison.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "rubato/metrics/confidence.h"
#include "rubato/report/units.h"

namespace rubato {
namespace {

using ReadNumber = double (*)(const RunReport&, const Summary&);
using IsNeeded = bool (*)(const Summary&);

// Where a column comes from.
struct Source {
  ComparisonColumn column{};
  Unit unit = Unit::Count;
  ReadNumber read = nullptr;
  Detail from = Detail::Terminal;  // Detail::Full: not in the terminal.
  IsNeeded is_needed = nullptr;    // Null: always.
};

template <auto kField>
double field(const RunReport&, const Summary& summary) {
  return static_cast<double>(summary.*kField);
}

double resizes_per_job(const RunReport&, const Summary& summary) {
  return summary.admitted > 0
             ? static_cast<double>(summary.resizes) / static_cast<double>(summary.admitted)
             : 0;
}

double decision_p99(const RunReport& run, const Summary&) { return run.decision_p99_seconds; }

bool has_deadlines(const Summary& summary) { return summary.deadline_jobs > 0; }
bool has_promises(const Summary& summary) { return summary.promises > 0; }
bool has_best_effort(const Summary& summary) { return summary.best_effort_jct_avg_seconds > 0; }

constexpr auto kHigher = Better::Higher;
constexpr auto kLower = Better::Lower;
constexpr auto kNeither = Better::Neither;

// In the order in which they are shown.
constexpr std::array kSources{
    Source{{"deadlines", "met", "",
            "Jobs with a deadline that met it; refused jobs count as missed.", kHigher},
           Unit::Ratio,
           field<&Summary::deadline_met_ratio>,
           Detail::Terminal,
           has_deadlines},
    Source{{"deadlines", "bound", "",
            "Jobs whose deadline could be met alone on the empty cluster.", kNeither},
           Unit::Ratio,
           field<&Summary::deadline_upper_bound>,
           Detail::Terminal,
           has_deadlines},
    Source{{"deadlines", "by GPU-h", "",
            "Deadlines met, each weighted by the GPU-hours the job asked for.", kHigher},
           Unit::Ratio,
           field<&Summary::deadline_met_gpu_hours_ratio>,
           Detail::Terminal,
           has_deadlines},
    Source{{"promises", "made", "", "Finishes promised at admission.", kNeither},
           Unit::Count,
           field<&Summary::promises>,
           Detail::Full,
           has_promises},
    Source{{"promises", "broken", "", "Promises not kept.", kLower},
           Unit::Count,
           field<&Summary::promises_broken>,
           Detail::Terminal,
           has_promises},
    Source{{"jobs", "admitted", "", "Jobs taken on.", kNeither},
           Unit::Count,
           field<&Summary::admitted>,
           Detail::Full,
           nullptr},
    Source{{"jobs", "finished", "", "Jobs finished; the times are theirs.", kHigher},
           Unit::Count,
           field<&Summary::finished>,
           Detail::Terminal,
           nullptr},
    Source{{"JCT", "avg", "", "Mean time from arrival to finish, of finished jobs.", kLower},
           Unit::Seconds,
           field<&Summary::jct_avg_seconds>,
           Detail::Terminal,
           nullptr},
    Source{{"JCT", "p50", "", "Half of the finished jobs took no longer.", kLower},
           Unit::Seconds,
           field<&Summary::jct_p50_seconds>,
           Detail::Full,
           nullptr},
    Source{{"JCT", "p99", "", "99% of the finished jobs took no longer.", kLower},
           Unit::Seconds,
           field<&Summary::jct_p99_seconds>,
           Detail::Terminal,
           nullptr},
    Source{{"JCT", "best effort", "", "Mean JCT of jobs without a deadline.", kLower},
           Unit::Seconds,
           field<&Summary::best_effort_jct_avg_seconds>,
           Detail::Full,
           has_best_effort},
    Source{
        {"slowdown", "avg", "", "Mean JCT over the run time alone on the empty cluster.", kLower},
        Unit::Times,
        field<&Summary::slowdown_avg>,
        Detail::Full,
        nullptr},
    Source{{"slowdown", "p99", "", "99% of the finished jobs were slowed down no more.", kLower},
           Unit::Times,
           field<&Summary::slowdown_p99>,
           Detail::Full,
           nullptr},
    Source{{"makespan", "", "", "First arrival to last finish.", kLower},
           Unit::Seconds,
           field<&Summary::makespan_seconds>,
           Detail::Terminal,
           nullptr},
    Source{{"GPUs", "used", "", "GPU time in use, of the GPU time available.", kHigher},
           Unit::Ratio,
           field<&Summary::gpu_utilization>,
           Detail::Terminal,
           nullptr},
    Source{{"GPUs", "efficient", "",
            "Speed-up of all jobs over one GPU each, for each GPU available.", kHigher},
           Unit::Ratio,
           field<&Summary::cluster_efficiency>,
           Detail::Terminal,
           nullptr},
    Source{{"unfairness", "max rho", "",
            "Worst finish-time fairness (Themis' rho); 1 is an equal share.", kLower},
           Unit::Times,
           field<&Summary::finish_time_fairness_max>,
           Detail::Full,
           nullptr},
    Source{{"value", "sum", "", "Sum of what finishing the jobs was worth.", kHigher},
           Unit::Times,
           field<&Summary::total_value>,
           Detail::Full,
           nullptr},
    Source{
        {"resizes", "per job", "", "Changes of the number of workers, per admitted job.", kNeither},
        Unit::Times,
        resizes_per_job,
        Detail::Terminal,
        nullptr},
    Source{{"migrations", "", "", "Moves of jobs to other GPUs.", kNeither},
           Unit::Count,
           field<&Summary::migrations>,
           Detail::Full,
           nullptr},
    Source{{"decision", "p99", "", "99% of all scheduling decisions took no longer.", kLower},
           Unit::Seconds,
           decision_p99,
           Detail::Terminal,
           nullptr},
};

// The summaries a run's numbers are means of.
std::span<const Summary> seeds_of(const RunReport& run) {
  return run.seeds.size() > 1 ? std::span<const Summary>(run.seeds)
                              : std::span<const Summary>(&run.summary, 1);
}

// Whether a policy has this number at all; one that promises nothing breaks no promise.
bool is_known(const Source& source, const RunReport& run) {
  return source.is_needed == nullptr || std::ranges::any_of(seeds_of(run), source.is_needed);
}

bool is_shown(const Source& source, std::span<const RunReport> runs, Detail detail) {
  return (detail == Detail::Full || source.from == Detail::Terminal) &&
         std::ranges::any_of(runs, [&](const RunReport& run) { return is_known(source, run); });
}

Interval measure(const Source& source, const RunReport& run) {
  std::vector<double> samples;
  for (const Summary& summary : seeds_of(run)) {
    samples.push_back(source.read(run, summary));
  }
  return confidence_interval(samples);
}

Scale scale_for(Unit unit, std::span<const Interval> values) {
  double largest = 0;
  bool is_whole = true;
  for (const Interval& value : values) {
    largest = std::max(largest, std::abs(value.mean));
    is_whole = is_whole && value.mean == std::floor(value.mean);
  }
  switch (unit) {
    case Unit::Ratio:
      return percent_scale();
    case Unit::Seconds:
      return time_scale(largest);
    case Unit::Count:
    case Unit::Times:
      break;
  }
  return plain_scale(largest, is_whole);
}

// Marks the cells that read the same as the best one, unless all known ones do.
void mark_best(Comparison& table, std::size_t at) {
  const Better better = table.columns[at].better;
  std::vector<ComparisonCell*> cells;
  for (ComparisonRow& row : table.rows) {
    if (row.cells[at].is_known) {
      cells.push_back(&row.cells[at]);
    }
  }
  if (better == Better::Neither || cells.empty()) {
    return;
  }
  const auto value = [](const ComparisonCell* cell) { return cell->value; };
  const auto [low, high] = std::ranges::minmax_element(cells, {}, value);
  const std::string best = (*(better == Better::Higher ? high : low))->text;
  const auto reads_best = [&](const ComparisonCell* cell) { return cell->text == best; };
  if (!std::ranges::all_of(cells, reads_best)) {
    for (ComparisonCell* cell : cells) {
      cell->is_best = reads_best(cell);
    }
  }
}

// One finished cell.
ComparisonCell make_cell(const Source& source, const RunReport& run, const Interval& value,
                         const Scale& scale) {
  if (!is_known(source, run)) {
    return {.is_known = false, .text = "-"};
  }
  ComparisonCell cell{.value = value.mean, .text = scale.text(value.mean)};
  // Decision times are of one run only.
  if (run.seeds.size() > 1 && source.read != decision_p99) {
    cell.plus_minus = scale.text(value.half_width);
  }
  return cell;
}

void add_column(Comparison& table, const Source& source, std::span<const RunReport> runs) {
  std::vector<Interval> values;
  for (const RunReport& run : runs) {
    values.push_back(measure(source, run));
  }
  const Scale scale = scale_for(source.unit, values);
  table.columns.push_back(source.column);
  table.columns.back().unit = scale.suffix;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    table.rows[i].cells.push_back(make_cell(source, runs[i], values[i], scale));
  }
  mark_best(table, table.columns.size() - 1);
}

}  // namespace

Comparison compare(std::span<const RunReport> runs, Detail detail) {
  Comparison table;
  for (const RunReport& run : runs) {
    table.rows.push_back({.policy = run.policy});
    table.seeds = std::max(table.seeds, run.seeds.size());
  }
  for (const Source& source : kSources) {
    if (is_shown(source, runs, detail)) {
      add_column(table, source, runs);
    }
  }
  return table;
}

}  // namespace rubato
