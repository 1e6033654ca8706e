#include "rubato/predict/measured_profile.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>

#include <fmt/core.h>

#include "rubato/base/check.h"
#include "rubato/base/parse.h"
#include "rubato/predict/named_columns.h"

namespace rubato {
namespace {

constexpr std::int64_t kGpusMax = 1'000'000;
constexpr std::int64_t kBatchMax = 1'000'000'000;
constexpr std::int64_t kStepsMax = 1'000'000'000'000'000;
constexpr double kStepSecondsMin = 1e-9;
constexpr double kStepSecondsMax = 1e9;

using Columns = std::span<const std::string_view>;

// "file:line: column: 'text' is not ..."
Error wrong(std::string_view file, const NamedRow& row, Columns columns, std::size_t at,
            std::string_view expected) {
  return bad_input(fmt::format("{}:{}: {}: '{}' is not {}", file, row.line, columns[at],
                               row.cells[at], expected));
}

// A whole number in [1, max]; nothing otherwise.
std::optional<std::int64_t> whole(std::string_view text, std::int64_t max) {
  const auto number = parse_int(text);
  return number && *number >= 1 && *number <= max ? number : std::nullopt;
}

// Nodes and GPUs of a placement such as 24; nothing if a character is no digit from 1 to 9.
std::optional<std::pair<int, int>> nodes_and_gpus(std::string_view placement) {
  int gpus = 0;
  for (const char digit : placement) {
    if (digit < '1' || digit > '9') {
      return std::nullopt;
    }
    gpus += digit - '0';
    if (gpus > kGpusMax) {
      return std::nullopt;
    }
  }
  return gpus == 0 ? std::nullopt
                   : std::optional(std::pair(static_cast<int>(placement.size()), gpus));
}

// Fills local batch, step and sync time from the three cells that start at `first`.
Status parse_times(std::string_view file, const NamedRow& row, Columns columns, std::size_t first,
                   StepTime& time) {
  const auto local_batch = whole(row.cells[first], kBatchMax);
  const auto step = parse_double(row.cells[first + 1]);
  const auto sync = parse_double(row.cells[first + 2]);
  if (!local_batch) {
    return wrong(file, row, columns, first, "a positive whole number");
  }
  if (!step || *step < kStepSecondsMin || *step > kStepSecondsMax) {
    return wrong(file, row, columns, first + 1, "a positive number of seconds");
  }
  if (!sync || *sync < 0 || *sync > *step) {
    return wrong(file, row, columns, first + 2, "a number from 0 to step_time");
  }
  time.local_batch = static_cast<int>(*local_batch);
  time.step_seconds = *step;
  time.sync_seconds = *sync;
  return ok_status();
}

int divided_up(int number, int by) { return number / by + (number % by == 0 ? 0 : 1); }

}  // namespace

Result<std::vector<StepTime>> parse_placements(std::string_view text, std::string_view file) {
  constexpr std::array<std::string_view, 4> kColumns = {"placement", "local_bsz", "step_time",
                                                        "sync_time"};
  const auto rows = named_columns(text, file, kColumns);
  if (!rows) {
    return rows.error();
  }
  std::vector<StepTime> times;
  for (const NamedRow& row : *rows) {
    const auto counts = nodes_and_gpus(row.cells[0]);
    if (!counts) {
      return wrong(file, row, kColumns, 0, "the GPUs of each node as digits from 1 to 9");
    }
    StepTime time{.nodes = counts->first, .gpus = counts->second};
    if (const Status parsed = parse_times(file, row, kColumns, 1, time); !parsed) {
      return parsed.error();
    }
    times.push_back(time);
  }
  return times;
}

Result<std::vector<StepTime>> parse_scalability(std::string_view text, std::string_view file) {
  constexpr std::array<std::string_view, 5> kColumns = {"num_nodes", "num_replicas", "local_bsz",
                                                        "step_time", "sync_time"};
  const auto rows = named_columns(text, file, kColumns);
  if (!rows) {
    return rows.error();
  }
  std::vector<StepTime> times;
  for (const NamedRow& row : *rows) {
    const auto nodes = whole(row.cells[0], kGpusMax);
    if (!nodes) {
      return wrong(file, row, kColumns, 0, "a positive whole number");
    }
    const auto gpus = whole(row.cells[1], kGpusMax);
    if (!gpus || *gpus < *nodes) {
      return wrong(file, row, kColumns, 1, "a whole number of at least num_nodes");
    }
    StepTime time{.nodes = static_cast<int>(*nodes), .gpus = static_cast<int>(*gpus)};
    if (const Status parsed = parse_times(file, row, kColumns, 2, time); !parsed) {
      return parsed.error();
    }
    times.push_back(time);
  }
  return times;
}

Result<double> parse_training_steps(std::string_view text, std::string_view file) {
  constexpr std::array<std::string_view, 1> kColumns = {"iteration"};
  const auto rows = named_columns(text, file, kColumns);
  if (!rows) {
    return rows.error();
  }
  std::int64_t steps = 0;
  for (const NamedRow& row : *rows) {
    const auto iteration = whole(row.cells[0], kStepsMax);
    if (!iteration) {
      return wrong(file, row, kColumns, 0, "a positive whole number");
    }
    if (*iteration < steps) {
      return wrong(file, row, kColumns, 0, fmt::format("at least {} as in the row before", steps));
    }
    steps = *iteration;
  }
  if (steps == 0) {
    return bad_input(fmt::format("{}: no rows; expected one per epoch", file));
  }
  return static_cast<double>(steps);
}

int curve_batch(std::span<const int> measured, int batch) {
  RUBATO_CHECK(!measured.empty());
  const auto above = std::ranges::lower_bound(measured, batch);
  return above == measured.end() ? measured.back() : *above;
}

double steps_at_batch(double steps, int curve_batch, int batch) {
  RUBATO_CHECK(batch > 0);
  return batch >= curve_batch ? steps : std::ceil(steps * curve_batch / batch);
}

MeasuredProfile::MeasuredProfile(std::span<const StepTime> measured) {
  for (const StepTime& time : measured) {
    Mean& mean = by_gpus_and_nodes_[{time.gpus, time.nodes}][time.local_batch];
    ++mean.count;
    mean.step_seconds += (time.step_seconds - mean.step_seconds) / mean.count;
    mean.sync_seconds += (time.sync_seconds - mean.sync_seconds) / mean.count;
  }
}

int MeasuredProfile::smallest_local_batch() const {
  int smallest = 0;
  for (const auto& [counts, measured] : by_gpus_and_nodes_) {
    const int here = measured.begin()->first;
    smallest = smallest == 0 ? here : std::min(smallest, here);
  }
  return smallest;
}

// One pass over a local batch: the chord between its measured neighbours, outside them the nearest.
MeasuredProfile::Mean MeasuredProfile::pass_at(const ByLocalBatch& measured, int local_batch) {
  const auto above = measured.lower_bound(local_batch);
  if (above == measured.end()) {
    return measured.rbegin()->second;
  }
  if (above->first == local_batch || above == measured.begin()) {
    return above->second;
  }
  const auto below = std::prev(above);
  const double part = static_cast<double>(local_batch - below->first) /
                      static_cast<double>(above->first - below->first);
  return Mean{
      .step_seconds = std::lerp(below->second.step_seconds, above->second.step_seconds, part),
      .sync_seconds = std::lerp(below->second.sync_seconds, above->second.sync_seconds, part)};
}

// Steps per second; zero if the local batch would be smaller than any measured. A step takes as
// long as its fullest worker, and a local batch beyond the largest measured is cut into equal
// passes, of which the last one exchanges gradients.
double MeasuredProfile::speed_at(const ByLocalBatch& measured, int gpus, int batch) {
  if (batch / gpus < measured.begin()->first) {
    return 0;
  }
  const int local_batch = divided_up(batch, gpus);
  const int passes = divided_up(local_batch, measured.rbegin()->first);
  const Mean pass = pass_at(measured, divided_up(local_batch, passes));
  return 1 / (pass.step_seconds + (passes - 1) * (pass.step_seconds - pass.sync_seconds));
}

std::vector<SpeedRow> MeasuredProfile::speed_rows(std::string_view model, int batch) const {
  std::vector<SpeedRow> rows;
  const auto add = [&](int gpus, double speed, Span span) {
    if (speed > 0) {
      rows.push_back(SpeedRow{
          .model = std::string(model), .batch = batch, .gpus = gpus, .speed = speed, .span = span});
    }
  };
  // Groups come in rising order of GPUs, then nodes: the first of a kind is the closest placement.
  int gpus_in_node = 0;
  int gpus_in_nodes = 0;
  for (const auto& [counts, measured] : by_gpus_and_nodes_) {
    const auto [gpus, nodes] = counts;
    const double speed = speed_at(measured, gpus, batch);
    if (nodes == 1) {
      add(gpus, speed, Span::Node);
      gpus_in_node = gpus;
    } else if (gpus != gpus_in_nodes) {
      if (gpus != gpus_in_node) {
        add(gpus, speed, Span::Node);
      }
      add(gpus, speed, Span::Rack);
      add(gpus, speed, Span::Across);
      gpus_in_nodes = gpus;
    }
  }
  return rows;
}

}  // namespace rubato
