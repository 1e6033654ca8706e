// Who is how good over several traces: means that no trace dominates, and places.
//
// Over traces a time, rho or sum of values is a geometric mean of ratios: the policy's number over
// that of the best one on the same trace. Two policies then compare the same whichever policy were
// taken as the base, and a long trace weighs no more than a short one. Shares (per cent) and counts
// per job are averaged as they are, each trace counting the same. Confidence intervals are over
// traces, of ratios taken on their logarithms; two traces are too few for any.
//
// A policy's place is the mean of its ranks in the judged columns, ties sharing theirs; over traces
// it is the mean of its places.
#pragma once

#include <span>
#include <vector>

#include "rubato/report/comparison_columns.h"

namespace rubato {

/// A run that finished less than this share of the jobs another one did is not compared by the
/// times of the jobs it finished.
inline constexpr double kComparableShare = 0.95;

/// The numbers of one run: one for each of column_sources(), or why there are none.
struct TraceStanding {
  std::string policy{};
  std::string failure{};
  std::vector<Measure> measures{};
  Measure place{};
};

/// One for each run, in their order.
[[nodiscard]] std::vector<TraceStanding> standings_of(std::span<const RunReport> runs);

/// The same policies over several traces; all have them in the same order. A policy that failed on
/// one trace has failed.
[[nodiscard]] std::vector<TraceStanding> over_traces(
    std::span<const std::vector<TraceStanding>> traces);

/// Whether the column over traces is made of ratios to the best.
[[nodiscard]] bool is_relative(const ColumnSource& source);

/// mean * exp(+-width) as an Interval whose half width is the larger, upper side. Samples that are
/// not above zero make the mean zero.
[[nodiscard]] Interval geometric_interval(std::span<const double> samples);

}  // namespace rubato
