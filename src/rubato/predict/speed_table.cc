#include "rubato/predict/speed_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include <fmt/core.h>

#include "rubato/base/parse.h"
#include "rubato/base/spelling.h"
#include "rubato/predict/named_columns.h"

namespace rubato {
namespace {

constexpr std::array<std::string_view, 6> kColumns = {"gpu_type", "model",       "global_batch",
                                                      "gpus",     "iters_per_s", "span"};
enum Column : std::size_t { GpuType, Model, Batch, Gpus, Speed, SpanOf };
constexpr std::size_t kRequired = 5;
constexpr double kRowGpusMax = 1'000'000;

using Fields = std::vector<std::string_view>;

// Where each known column stands in the file; npos for an absent optional one.
using Header = std::array<std::size_t, kColumns.size()>;

Result<Header> parse_header(std::string_view line, std::string_view file) {
  Header header;
  header.fill(std::string_view::npos);
  const Fields names = comma_fields(line);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto column = std::ranges::find(kColumns, names[i]);
    if (column == kColumns.end()) {
      return bad_input(fmt::format("{}:1: unknown column '{}'{}", file, names[i],
                                   suggestion(names[i], kColumns)));
    }
    header[static_cast<std::size_t>(column - kColumns.begin())] = i;
  }
  for (std::size_t i = 0; i < kRequired; ++i) {
    if (header[i] == std::string_view::npos) {
      return bad_input(fmt::format("{}:1: column '{}' is missing", file, kColumns[i]));
    }
  }
  return header;
}

std::optional<Locality> parse_span(std::string_view text) {
  for (const Locality span : {Locality::Node, Locality::Rack, Locality::Across}) {
    if (text == to_string(span)) {
      return span;
    }
  }
  return std::nullopt;
}

// A whole number in [1, max]; nothing otherwise.
std::optional<int> count_in(std::string_view text, double max) {
  const auto number = parse_int(text);
  return number && *number >= 1 && static_cast<double>(*number) <= max
             ? std::optional(static_cast<int>(*number))
             : std::nullopt;
}

Result<SpeedRow> parse_row(const Fields& fields, const Header& header, std::string_view where) {
  const auto text = [&](Column column) { return fields[header[column]]; };
  SpeedRow row{.gpu_type = std::string(text(GpuType)), .model = std::string(text(Model))};
  const auto batch = count_in(text(Batch), 1e9);
  const auto gpus = count_in(text(Gpus), kRowGpusMax);
  const auto speed = parse_double(text(Speed));
  if (!batch) {
    return bad_input(
        fmt::format("{}: global_batch: '{}' is not a positive whole number", where, text(Batch)));
  }
  if (!gpus) {
    return bad_input(
        fmt::format("{}: gpus: '{}' is not a positive whole number", where, text(Gpus)));
  }
  if (!speed || *speed <= 0) {
    return bad_input(
        fmt::format("{}: iters_per_s: '{}' is not a positive number", where, text(Speed)));
  }
  row.batch = *batch;
  row.gpus = *gpus;
  row.speed = *speed;
  if (header[SpanOf] != std::string_view::npos && !text(SpanOf).empty()) {
    row.span = parse_span(text(SpanOf));
    if (!row.span) {
      return bad_input(
          fmt::format("{}: span: '{}' is none of node, rack, across", where, text(SpanOf)));
    }
  }
  return row;
}

}  // namespace

Result<std::vector<SpeedRow>> parse_speeds(std::string_view text, std::string_view file) {
  std::vector<SpeedRow> rows;
  std::optional<Header> header;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.empty()) {
      continue;
    }
    if (!header) {
      auto parsed = parse_header(line, file);
      if (!parsed) {
        return parsed.error();
      }
      header = *parsed;
      continue;
    }
    const Fields fields = comma_fields(line);
    const std::size_t needed = 1 + *std::ranges::max_element(*header, {}, [](std::size_t at) {
                                 return at == std::string_view::npos ? 0 : at;
                               });
    if (fields.size() < needed) {
      return bad_input(
          fmt::format("{}:{}: {} columns found, {} expected", file, number, fields.size(), needed));
    }
    auto row = parse_row(fields, *header, fmt::format("{}:{}", file, number));
    if (!row) {
      return row.error();
    }
    rows.push_back(*std::move(row));
  }
  if (!header) {
    return bad_input(fmt::format("{}: empty; expected a header line", file));
  }
  return rows;
}

std::vector<SpeedRow> sample_speeds() {
  // speed(n) = single * n / (1 + a (n - 1) + b n log2 n): compute shrinks, talking grows.
  struct Shape {
    std::string_view model;
    int batch;
    double single;
    double fixed;
    double talk;
  };
  constexpr std::array<Shape, 6> kShapes = {{{"convnet", 128, 5.0, 0.020, 0.010},
                                             {"convnet", 256, 2.6, 0.012, 0.006},
                                             {"language", 128, 6.5, 0.060, 0.020},
                                             {"language", 256, 3.4, 0.040, 0.012},
                                             {"speech", 64, 2.1, 0.050, 0.015},
                                             {"ranking", 512, 9.0, 0.090, 0.030}}};
  std::vector<SpeedRow> rows;
  for (const Shape& shape : kShapes) {
    for (int gpus = 1; gpus <= 64; gpus *= 2) {
      const double n = gpus;
      const double slowdown = 1 + shape.fixed * (n - 1) + shape.talk * n * std::log2(n);
      rows.push_back(SpeedRow{.gpu_type = "sample",
                              .model = std::string(shape.model),
                              .batch = shape.batch,
                              .gpus = gpus,
                              .speed = shape.single * n / slowdown,
                              .provenance = Provenance::Modelled});
    }
  }
  return rows;
}

}  // namespace rubato
