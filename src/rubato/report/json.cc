#include "rubato/report/json.h"

#include <cmath>
#include <cstddef>

#include <nlohmann/json.hpp>

#include "rubato/metrics/columns.h"
#include "rubato/metrics/confidence.h"

namespace rubato {
namespace {

using Json = nlohmann::ordered_json;

// Whole where the field is a count, unless it is a mean that is not whole.
Json number(double value, const Column& column) {
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

Json result_row(const RunReport& run) {
  const bool several = run.seeds.size() > 1;
  const std::vector<Interval> values = confidence_intervals(
      several ? std::span<const Summary>(run.seeds) : std::span<const Summary>(&run.summary, 1));
  Json row;
  row["policy"] = run.policy;
  add_columns(row, values, /*is_fixed=*/true);
  row["decision_p50_seconds"] = run.decision_p50_seconds;
  row["decision_p99_seconds"] = run.decision_p99_seconds;
  row["decision_max_seconds"] = run.decision_max_seconds;
  row["wall_seconds"] = run.wall_seconds;
  row["peak_rss_bytes"] = run.peak_rss_bytes;
  add_columns(row, values, /*is_fixed=*/false);
  if (!run.trace.empty()) {
    row["trace"] = run.trace;
  }
  if (several) {
    row["seeds"] = run.seeds.size();
    row["ci"] = confidence(values);
  }
  return row;
}

}  // namespace

std::string json_report(const ReportHeader& header, std::span<const RunReport> runs) {
  Json report;
  report["version"] = header.version;
  report["trace"] = header.trace;
  report["cluster"] = header.cluster;
  report["seed"] = header.seed;
  report["results"] = Json::array();
  for (const RunReport& run : runs) {
    report["results"].push_back(result_row(run));
  }
  report["overhead"] = header.overhead;
  report["slot_seconds"] = header.slot_seconds;
  report["command"] = header.command;
  report["provenance"] = header.provenance;
  return report.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rubato
