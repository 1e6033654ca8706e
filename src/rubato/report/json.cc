#include "rubato/report/json.h"

#include <cmath>
#include <cstddef>
#include <map>

#include <nlohmann/json.hpp>

#include "rubato/metrics/columns.h"
#include "rubato/metrics/confidence.h"
#include "rubato/report/standings.h"

namespace rubato {
namespace {

using Json = nlohmann::ordered_json;

// Whole where the field is a count, unless it is a mean that is not whole.
Json number(double value, const SummaryColumn& column) {
  if (std::holds_alternative<long Summary::*>(column.field) && value == std::floor(value)) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

void add_columns(Json& row, std::span<const Interval> values, bool is_fixed) {
  const auto columns = summary_columns();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].is_fixed == is_fixed) {
      row[std::string(columns[i].name)] = number(values[i].mean, columns[i]);
    }
  }
}

// Half widths by name.
Json confidence(std::span<const Interval> values) {
  Json widths = Json::object();
  const auto columns = summary_columns();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    widths[std::string(columns[i].name)] = values[i].half_width;
  }
  return widths;
}

// What tells rows apart apart from the policy.
struct Labels {
  bool traces = false;
  bool noises = false;

  void add_to(Json& row, const RunGroup& group) const {
    if (traces) {
      row["trace"] = group.trace;
    }
    if (noises) {
      row["noise"] = group.noise;
    }
  }
};

Labels labels_of(std::span<const RunGroup> groups) {
  Labels labels;
  for (const RunGroup& group : groups) {
    labels.traces = labels.traces || group.trace != groups.front().trace;
    labels.noises = labels.noises || group.noise != groups.front().noise;
  }
  return labels;
}

Json result_row(const RunReport& run, const RunGroup& group, const Labels& labels) {
  Json row;
  row["policy"] = run.policy;
  if (!run.failure.empty()) {
    row["error"] = run.failure;
    labels.add_to(row, group);
    return row;
  }
  const bool several = run.seeds.size() > 1;
  const std::vector<Interval> values = confidence_intervals(
      several ? std::span<const Summary>(run.seeds) : std::span<const Summary>(&run.summary, 1));
  add_columns(row, values, /*is_fixed=*/true);
  row["decision_p50_seconds"] = run.decision_p50_seconds;
  row["decision_p99_seconds"] = run.decision_p99_seconds;
  row["decision_max_seconds"] = run.decision_max_seconds;
  row["wall_seconds"] = run.wall_seconds;
  row["peak_rss_bytes"] = run.peak_rss_bytes;
  add_columns(row, values, /*is_fixed=*/false);
  labels.add_to(row, group);
  if (several) {
    row["seeds"] = run.seeds.size();
    row["ci"] = confidence(values);
  }
  return row;
}

// One policy over all traces.
Json aggregate_row(const TraceStanding& standing, double noise, std::size_t traces) {
  Json row;
  row["policy"] = standing.policy;
  row["noise"] = noise;
  row["traces"] = traces;
  if (!standing.failure.empty()) {
    row["error"] = standing.failure;
    return row;
  }
  row["place"] = standing.place.value.mean;
  row["mean"] = Json::object();
  row["over_best"] = Json::object();
  const auto sources = column_sources();
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (standing.measures[i].is_known) {
      row[is_relative(sources[i]) ? "over_best" : "mean"][std::string(sources[i].name)] =
          standing.measures[i].value.mean;
    }
  }
  return row;
}

Json aggregate(std::span<const RunGroup> groups) {
  std::map<double, std::vector<std::vector<TraceStanding>>> by_noise;
  for (const RunGroup& group : groups) {
    by_noise[group.noise].push_back(standings_of(group.runs));
  }
  Json rows = Json::array();
  for (const auto& [noise, traces] : by_noise) {
    for (const TraceStanding& standing : over_traces(traces)) {
      rows.push_back(aggregate_row(standing, noise, traces.size()));
    }
  }
  return rows;
}

}  // namespace

std::string json_report(const ReportHeader& header, std::span<const RunGroup> groups) {
  const Labels labels = labels_of(groups);
  Json report;
  report["version"] = header.version;
  report["trace"] = header.trace;
  report["cluster"] = header.cluster;
  report["seed"] = header.seed;
  report["results"] = Json::array();
  for (const RunGroup& group : groups) {
    for (const RunReport& run : group.runs) {
      report["results"].push_back(result_row(run, group, labels));
    }
  }
  if (labels.traces) {
    report["aggregate"] = aggregate(groups);
  }
  report["overhead"] = header.overhead;
  report["slot_seconds"] = header.slot_seconds;
  report["command"] = header.command;
  report["provenance"] = header.provenance;
  return report.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rubato
