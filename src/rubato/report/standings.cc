#include "rubato/report/standings.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "rubato/base/check.h"
#include "rubato/metrics/percentile.h"

namespace rubato {
namespace {

constexpr std::size_t kTracesForWidth = 3;

// Numbers that differ by less are equal: they are sums in different orders.
constexpr double kSame = 1e-9;

bool is_same(double a, double b) { return std::abs(a - b) <= kSame * std::max(1.0, std::abs(a)); }

double finished_mean(const RunReport& run) {
  if (run.seeds.size() < 2) {
    return static_cast<double>(run.summary.finished);
  }
  double sum = 0;
  for (const Summary& summary : run.seeds) {
    sum += static_cast<double>(summary.finished);
  }
  return sum / static_cast<double>(run.seeds.size());
}

// Takes those out of the comparison of times who left many jobs to wait or sent them away.
void judge_comparable(std::span<const RunReport> runs, std::span<TraceStanding> standings) {
  double most = 0;
  for (const RunReport& run : runs) {
    most = run.failure.empty() ? std::max(most, finished_mean(run)) : most;
  }
  const auto sources = column_sources();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (std::size_t c = 0; c < sources.size(); ++c) {
      standings[i].measures[c].is_comparable =
          !sources[c].is_of_finished() || finished_mean(runs[i]) >= kComparableShare * most;
    }
  }
}

// The rank of each known number, 1 the best; equal ones share the mean of theirs. Those that cannot
// be compared share the last ranks.
std::vector<double> ranks_of(std::span<const Measure> column, Better better) {
  const auto is_before = [&](const Measure& a, const Measure& b) {
    if (a.is_comparable != b.is_comparable || !a.is_comparable) {
      return a.is_comparable && !b.is_comparable;
    }
    const double difference =
        better == Better::Higher ? a.value.mean - b.value.mean : b.value.mean - a.value.mean;
    return difference > 0 && !is_same(a.value.mean, b.value.mean);
  };
  std::vector<double> ranks;
  for (const Measure& own : column) {
    double before = 0;
    double equal = 0;
    for (const Measure& other : column) {
      before += is_before(other, own) ? 1 : 0;
      equal += !is_before(other, own) && !is_before(own, other) ? 1 : 0;
    }
    ranks.push_back(before + (equal + 1) / 2);
  }
  return ranks;
}

// Mean rank over the judged columns, among those who did not fail.
void place_all(std::span<TraceStanding> standings) {
  std::vector<TraceStanding*> players;
  for (TraceStanding& standing : standings) {
    if (standing.failure.empty()) {
      players.push_back(&standing);
    }
  }
  std::vector<std::vector<double>> ranks(players.size());
  const auto sources = column_sources();
  for (std::size_t c = 0; c < sources.size(); ++c) {
    std::vector<Measure> column;
    column.reserve(players.size());
    for (const TraceStanding* player : players) {
      column.push_back(player->measures[c]);
    }
    if (!sources[c].is_judged() ||
        !std::ranges::all_of(column, [](const Measure& each) { return each.is_known; })) {
      continue;
    }
    const std::vector<double> places = ranks_of(column, sources[c].column.better);
    for (std::size_t i = 0; i < players.size(); ++i) {
      ranks[i].push_back(places[i]);
    }
  }
  for (std::size_t i = 0; i < players.size(); ++i) {
    players[i]->place = {.is_known = !ranks[i].empty(), .value = {.mean = mean(ranks[i])}};
  }
}

// The best comparable number of a column on each trace; 0 where there is none.
std::vector<double> best_of(std::span<const std::vector<TraceStanding>> traces,
                            std::size_t column) {
  const bool is_higher = column_sources()[column].column.better == Better::Higher;
  std::vector<double> best;
  for (const auto& trace : traces) {
    double found = 0;
    for (const TraceStanding& standing : trace) {
      const Measure& own = standing.measures[column];
      const double value = own.value.mean;
      if (own.is_known && own.is_comparable && value > 0 &&
          (found == 0 || (is_higher ? value > found : value < found))) {
        found = value;
      }
    }
    best.push_back(found);
  }
  return best;
}

// One number over traces; known only if it is known in all.
Measure merged(std::span<const Measure> traces, std::span<const double> best) {
  Measure whole{.is_known = true, .has_width = traces.size() >= kTracesForWidth};
  std::vector<double> samples;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    const bool has_base = best.empty() || best[i] > 0;
    whole.is_known = whole.is_known && traces[i].is_known && has_base;
    whole.is_comparable = whole.is_comparable && traces[i].is_comparable;
    samples.push_back(best.empty() || !has_base ? traces[i].value.mean
                                                : traces[i].value.mean / best[i]);
  }
  if (whole.is_known) {
    whole.value = best.empty() ? confidence_interval(samples) : geometric_interval(samples);
  }
  return whole;
}

TraceStanding without_numbers(std::span<const std::vector<TraceStanding>> traces, std::size_t row) {
  TraceStanding whole{.policy = traces.front()[row].policy};
  whole.measures.resize(column_sources().size());
  const auto failures = std::ranges::count_if(
      traces, [row](const auto& trace) { return !trace[row].failure.empty(); });
  if (failures > 0) {
    whole.failure = fmt::format("no numbers on {} of {} traces", failures, traces.size());
  }
  return whole;
}

// The measures of one row and column on each trace.
template <typename Read>
std::vector<Measure> gathered(std::span<const std::vector<TraceStanding>> traces, std::size_t row,
                              Read read) {
  std::vector<Measure> numbers;
  for (const auto& trace : traces) {
    numbers.push_back(read(trace[row]));
  }
  return numbers;
}

// Whether all traces have the same policy in a row.
bool have_in_common(std::span<const std::vector<TraceStanding>> traces, std::size_t row) {
  return std::ranges::all_of(traces, [&](const std::vector<TraceStanding>& trace) {
    return row < trace.size() && trace[row].policy == traces.front()[row].policy;
  });
}

void merge_column(std::span<const std::vector<TraceStanding>> traces, std::size_t column,
                  std::vector<TraceStanding>& whole) {
  const std::vector<double> best =
      is_relative(column_sources()[column]) ? best_of(traces, column) : std::vector<double>{};
  for (std::size_t row = 0; row < whole.size(); ++row) {
    if (whole[row].failure.empty()) {
      const auto read = [column](const TraceStanding& own) { return own.measures[column]; };
      whole[row].measures[column] = merged(gathered(traces, row, read), best);
    }
  }
}

}  // namespace

bool is_relative(const ColumnSource& source) {
  // Counts per job are no better or worse, and may well be zero.
  return source.column.better != Better::Neither &&
         (source.unit == Unit::Seconds || source.unit == Unit::Times);
}

Interval geometric_interval(std::span<const double> samples) {
  std::vector<double> logarithms;
  for (const double sample : samples) {
    if (sample <= 0) {
      return {};
    }
    logarithms.push_back(std::log(sample));
  }
  const Interval interval = confidence_interval(logarithms);
  const double middle = samples.empty() ? 0 : std::exp(interval.mean);
  return {.mean = middle, .half_width = middle * std::expm1(interval.half_width)};
}

std::vector<TraceStanding> standings_of(std::span<const RunReport> runs) {
  std::vector<TraceStanding> standings;
  for (const RunReport& run : runs) {
    TraceStanding standing{.policy = run.policy, .failure = run.failure};
    for (const ColumnSource& source : column_sources()) {
      standing.measures.push_back(measure(source, run));
    }
    standings.push_back(std::move(standing));
  }
  judge_comparable(runs, standings);
  place_all(standings);
  return standings;
}

std::vector<TraceStanding> over_traces(std::span<const std::vector<TraceStanding>> traces) {
  std::vector<TraceStanding> whole;
  for (std::size_t row = 0; !traces.empty() && row < traces.front().size(); ++row) {
    RUBATO_CHECK(have_in_common(traces, row));
    whole.push_back(without_numbers(traces, row));
    if (whole.back().failure.empty()) {
      whole.back().place =
          merged(gathered(traces, row, [](const TraceStanding& own) { return own.place; }), {});
    }
  }
  for (std::size_t column = 0; column < column_sources().size(); ++column) {
    merge_column(traces, column, whole);
  }
  return whole;
}

}  // namespace rubato
