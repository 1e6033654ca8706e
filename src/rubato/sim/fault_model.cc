#include "rubato/sim/fault_model.h"

#include <algorithm>
#include <array>
#include <string>
#include <tuple>

#include <fmt/core.h>

#include "rubato/base/parse.h"
#include "rubato/base/spelling.h"

namespace rubato {
namespace {

constexpr std::size_t kFaultsMax = 10'000'000;

struct Field {
  std::string_view name;
  double FaultOptions::*value;
};

constexpr std::array<Field, 9> kFields = {{
    {"node_mtbf", &FaultOptions::node_mtbf},
    {"node_repair", &FaultOptions::node_repair},
    {"worker_mtbf", &FaultOptions::worker_mtbf},
    {"straggler_mtbf", &FaultOptions::straggler_mtbf},
    {"straggler_span", &FaultOptions::straggler_span},
    {"straggler_speed", &FaultOptions::straggler_speed},
    {"report_every", &FaultOptions::report_every},
    {"report_delay", &FaultOptions::report_delay},
    {"noise", &FaultOptions::noise},
}};

// Spells of one kind at one node: they begin, last, end, and never overlap.
void draw_spells(const Node& node, double mtbf, double span, FaultKind begins, FaultKind ends,
                 Instant start, Instant end, Random random, std::vector<Fault>& faults) {
  Instant at = later(start, from_seconds(random.exponential(mtbf)));
  while (at < end && faults.size() < kFaultsMax) {
    faults.push_back(Fault{.at = at, .kind = begins, .node = node.id});
    if (begins != ends) {
      at = later(at, from_seconds_up(random.exponential(span)) + Duration{1});
      faults.push_back(Fault{.at = at, .kind = ends, .node = node.id});
    }
    at = later(at, from_seconds_up(random.exponential(mtbf)) + Duration{1});
  }
}

}  // namespace

Result<FaultOptions> FaultOptions::parse(std::string_view text) {
  FaultOptions options;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view pair = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const std::string_view key = trimmed(pair.substr(0, equals));
    const auto field = std::ranges::find(kFields, key, &Field::name);
    if (field == kFields.end()) {
      std::array<std::string_view, kFields.size()> names{};
      std::ranges::transform(kFields, names.begin(), &Field::name);
      return bad_input(fmt::format("faults: unknown '{}'{}", key, suggestion(key, names)));
    }
    const auto number = parse_double(pair.substr(std::min(equals + 1, pair.size())));
    if (!number || *number < 0) {
      return bad_input(fmt::format("faults: {} in '{}' is not a number of 0 or more", key, pair));
    }
    options.*(field->value) = *number;
  }
  return options;
}

std::vector<Fault> draw_faults(const FaultOptions& options, const Topology& topology, Instant start,
                               Instant end, Random random) {
  std::vector<Fault> faults;
  for (const Node& node : topology.nodes()) {
    const std::uint64_t stream = 3 * node.id.value;
    if (options.node_mtbf > 0) {
      draw_spells(node, options.node_mtbf, options.node_repair, FaultKind::NodeDown,
                  FaultKind::NodeUp, start, end, random.fork(stream), faults);
    }
    if (options.straggler_mtbf > 0) {
      draw_spells(node, options.straggler_mtbf, options.straggler_span, FaultKind::SlowBegins,
                  FaultKind::SlowEnds, start, end, random.fork(stream + 1), faults);
    }
    if (options.worker_mtbf > 0) {
      draw_spells(node, options.worker_mtbf, 0, FaultKind::WorkerLost, FaultKind::WorkerLost, start,
                  end, random.fork(stream + 2), faults);
    }
  }
  std::ranges::sort(
      faults, {}, [](const Fault& fault) { return std::tuple(fault.at, fault.kind, fault.node); });
  return faults;
}

}  // namespace rubato
