#include "rubato/report/comparison_data.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "rubato/report/standings.h"

namespace rubato {
namespace {

using TableJson = nlohmann::ordered_json;

TableJson cell_data(const ComparisonCell& cell) {
  if (!cell.is_known) {
    return {};
  }
  TableJson data{{"value", cell.value}, {"text", cell.text}};
  if (!cell.plus_minus.empty()) {
    data["half"] = cell.half_width;
    data["plus_minus"] = cell.plus_minus;
  }
  if (cell.is_best) {
    data["best"] = true;
  }
  if (!cell.is_comparable) {
    data["apart"] = true;
  }
  return data;
}

TableJson row_data(const ComparisonRow& row) {
  TableJson data{{"policy", row.policy}};
  if (!row.failure.empty()) {
    data["failure"] = row.failure;
  }
  data["cells"] = TableJson::array();
  for (const ComparisonCell& cell : row.cells) {
    data["cells"].push_back(cell_data(cell));
  }
  return data;
}

TableJson group_data(const ComparisonGroup& group) {
  TableJson rows = TableJson::array();
  for (const ComparisonRow& row : group.rows) {
    rows.push_back(row_data(row));
  }
  return {{"title", group.title},
          {"trace", group.trace},
          {"noise", group.noise},
          {"relative", group.is_over_traces},
          {"rows", std::move(rows)}};
}

TableJson column_data(const ComparisonColumn& column) {
  return {{"group", column.group},
          {"title", column.title},
          {"unit", column.unit},
          {"meaning", column.meaning},
          {"better", column.better == Better::Higher  ? 1
                     : column.better == Better::Lower ? -1
                                                      : 0}};
}

}  // namespace

std::string comparison_data(const Comparison& comparison) {
  TableJson data;
  data["columns"] = TableJson::array();
  for (const ComparisonColumn& column : comparison.columns) {
    data["columns"].push_back(column_data(column));
  }
  data["groups"] = TableJson::array();
  for (const ComparisonGroup& group : comparison.groups) {
    data["groups"].push_back(group_data(group));
  }
  data["seeds"] = comparison.seeds;
  data["comparable_share"] = kComparableShare;
  return data.dump(-1, ' ', /*ensure_ascii=*/false, TableJson::error_handler_t::replace);
}

}  // namespace rubato
