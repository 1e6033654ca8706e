#include "rubato/predict/profile_rows.h"

#include <array>
#include <cstdint>
#include <numeric>
#include <optional>

#include <fmt/core.h>

#include "rubato/base/check.h"
#include "rubato/base/parse.h"
#include "rubato/predict/named_columns.h"

namespace rubato {
namespace {

constexpr std::int64_t kGpusMax = 1'000'000;
constexpr std::size_t kPatternNodesMax = 10'000;
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

// A number that is neither negative nor beyond reason; nothing otherwise.
std::optional<double> amount(std::string_view text) {
  constexpr double kAmountMax = 1e18;
  const auto number = parse_double(text);
  return number && *number >= 0 && *number <= kAmountMax ? number : std::nullopt;
}

// The GPUs of each node of a placement such as 24; nothing if a character is no digit from 1 to 9.
std::optional<NodePattern> pattern_of(std::string_view placement) {
  NodePattern pattern;
  for (const char digit : placement) {
    if (digit < '1' || digit > '9') {
      return std::nullopt;
    }
    pattern.push_back(digit - '0');
  }
  const bool is_sensible = !pattern.empty() && pattern.size() <= kPatternNodesMax;
  return is_sensible ? std::optional(pattern) : std::nullopt;
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
    const auto pattern = pattern_of(row.cells[0]);
    if (!pattern) {
      return wrong(file, row, kColumns, 0, "the GPUs of each node as digits from 1 to 9");
    }
    StepTime time{.nodes = static_cast<int>(pattern->size()),
                  .gpus = std::accumulate(pattern->begin(), pattern->end(), 0),
                  .pattern = *pattern};
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

Result<std::vector<Epoch>> parse_epochs(std::string_view text, std::string_view file) {
  constexpr std::array<std::string_view, 4> kColumns = {"progress", "iteration", "grad_sqr",
                                                        "grad_var"};
  const auto rows = named_columns(text, file, kColumns);
  if (!rows) {
    return rows.error();
  }
  std::vector<Epoch> epochs;
  for (const NamedRow& row : *rows) {
    const auto progress = amount(row.cells[0]);
    const auto steps = whole(row.cells[1], kStepsMax);
    const auto squared = amount(row.cells[2]);
    const auto variance = amount(row.cells[3]);
    if (!progress || !squared || !variance) {
      return wrong(file, row, kColumns,
                   !progress  ? 0U
                   : !squared ? 2U
                              : 3U,
                   "a number from zero up");
    }
    if (!steps) {
      return wrong(file, row, kColumns, 1, "a positive whole number");
    }
    const Epoch before = epochs.empty() ? Epoch{} : epochs.back();
    if (*progress <= before.progress) {
      return wrong(file, row, kColumns, 0,
                   fmt::format("above {} as in the row before", before.progress));
    }
    if (static_cast<double>(*steps) < before.steps) {
      return wrong(file, row, kColumns, 1,
                   fmt::format("at least {} as in the row before", before.steps));
    }
    epochs.push_back({.progress = *progress,
                      .steps = static_cast<double>(*steps),
                      .noise = {.squared = *squared, .variance = *variance}});
  }
  if (epochs.empty()) {
    return bad_input(fmt::format("{}: no rows; expected one per epoch", file));
  }
  return epochs;
}

}  // namespace rubato
