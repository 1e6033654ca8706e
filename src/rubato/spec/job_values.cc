#include "rubato/spec/job_values.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rubato/base/parse.h"

namespace rubato {
namespace {

Error workers_error(std::string_view text) {
  return bad_input(fmt::format("found '{}', expected 4, 1-8, 2- or 1,2,4 with numbers from 1 to {}",
                               text, kJobWorkersMax));
}

std::optional<int> worker_count(std::string_view text) {
  const auto number = parse_int(trimmed(text));
  return number && *number >= 1 && *number <= kJobWorkersMax
             ? std::optional(static_cast<int>(*number))
             : std::nullopt;
}

// The parts between commas.
std::vector<std::string_view> comma_parts(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t comma = 0; comma != std::string_view::npos;) {
    comma = text.find(',');
    parts.push_back(trimmed(text.substr(0, comma)));
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return parts;
}

}  // namespace

Result<wire::WorkerLimits> parse_workers(std::string_view text) {
  wire::WorkerLimits limits;
  if (text.find(',') != std::string_view::npos) {
    for (const std::string_view part : comma_parts(text)) {
      const auto count = worker_count(part);
      if (!count || limits.listed_size() == kJobSizesMax) {
        return workers_error(text);
      }
      limits.add_listed(*count);
    }
    return limits;
  }
  const std::size_t dash = text.find('-');
  const auto least = worker_count(text.substr(0, dash));
  const bool is_open = dash != std::string_view::npos && trimmed(text.substr(dash + 1)).empty();
  const auto most = dash == std::string_view::npos ? least : worker_count(text.substr(dash + 1));
  if (!least || (!most && !is_open) || (most && *most < *least)) {
    return workers_error(text);
  }
  limits.set_min(*least);
  limits.set_max(most.value_or(0));
  return limits;
}

std::string workers_text(const wire::WorkerLimits& limits) {
  if (limits.listed_size() > 0) {
    return fmt::format("{}", fmt::join(limits.listed(), ","));
  }
  if (limits.min() == 0 && limits.max() == 0) {
    return "any";
  }
  if (limits.min() == limits.max()) {
    return std::to_string(limits.min());
  }
  return fmt::format("{}-{}", limits.min() == 0 ? 1 : limits.min(),
                     limits.max() == 0 ? "" : std::to_string(limits.max()));
}

WorkerCounts worker_counts(const wire::WorkerLimits& limits) {
  WorkerCounts counts;
  counts.min = std::max(1, limits.min());
  counts.max = limits.max() > 0 ? limits.max() : counts.max;
  counts.listed.assign(limits.listed().begin(), limits.listed().end());
  std::ranges::sort(counts.listed);
  return counts;
}

Result<std::vector<wire::SpeedPoint>> parse_speeds(std::string_view text) {
  std::vector<wire::SpeedPoint> points;
  for (const std::string_view part : comma_parts(text)) {
    const std::size_t colon = part.find(':');
    const auto workers = worker_count(part.substr(0, colon));
    const auto speed = colon == std::string_view::npos
                           ? std::nullopt
                           : parse_double(trimmed(part.substr(colon + 1)));
    if (!workers || !speed || !(*speed > 0) ||
        points.size() == static_cast<std::size_t>(kJobSizesMax)) {
      return bad_input(
          fmt::format("found '{}', expected workers:steps per second such as 1:10,2:19", part));
    }
    wire::SpeedPoint point;
    point.set_workers(*workers);
    point.set_steps_per_second(*speed);
    points.push_back(point);
  }
  return points;
}

}  // namespace rubato
