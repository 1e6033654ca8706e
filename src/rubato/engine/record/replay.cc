#include "rubato/engine/record/replay.h"

#include <deque>
#include <utility>
#include <variant>

#include <fmt/core.h>

namespace rubato {
namespace {

/// Commands of the last event that no line of the journal has matched yet, as lines.
using Expected = std::deque<std::string>;

// Why the event cannot have happened to this engine; empty if it can.
std::string impossible(const EngineState& state, const JournalEvent& entry) {
  if (entry.at < state.now) {
    return fmt::format("time runs backwards, from {} to {}", state.now.time_since_epoch().count(),
                       entry.at.time_since_epoch().count());
  }
  if (entry.at.time_since_epoch() > kLongest) {
    return "no moment that late can happen";
  }
  return {};
}

// A line without its end.
std::string bare(std::string line) {
  line.pop_back();
  return line;
}

void feed(const JournalEvent& entry, Engine& engine, Expected& expected) {
  const Commands commands =
      entry.join ? engine.on(entry.at, *entry.join) : engine.on(entry.at, entry.event);
  for (const Command& command : commands) {
    expected.push_back(bare(command_line(command)));
  }
}

// Compares a recorded command with the next expected one.
std::optional<ReplayDifference> compare(const JournalReader& reader, Expected& expected) {
  const std::string replayed = expected.empty() ? std::string{} : expected.front();
  if (replayed != reader.text()) {
    return ReplayDifference{
        .line = reader.line(), .recorded = std::string(reader.text()), .replayed = replayed};
  }
  expected.pop_front();
  return std::nullopt;
}

}  // namespace

Result<Engine> engine_for(const JournalHeader& header, const JournalSpeeds& speeds) {
  const auto topology = Topology::parse(header.cluster);
  auto tenants = parse_tenants(header.tenants);
  if (!topology || !tenants) {
    return !topology ? topology.error() : tenants.error();
  }
  return Engine::make(*topology, speeds.book(*topology), header.policy,
                      EngineOptions{.accounting = header.accounting,
                                    .slot = header.slot,
                                    .restart = header.restart,
                                    .grid = header.grid,
                                    .firm_quotes = header.firm_quotes,
                                    .seed = header.seed,
                                    .share_profiles = header.share_profiles,
                                    .tenants = *std::move(tenants),
                                    .placer = header.placer});
}

Result<Engine> engine_for(std::string_view journal) {
  const auto reader = JournalReader::open(journal);
  return reader ? engine_for(reader->header(), reader->speeds()) : reader.error();
}

Result<ReplayReport> replay(std::string_view journal, Engine& fresh) {
  auto reader = JournalReader::open(journal);
  if (!reader) {
    return reader.error();
  }
  ReplayReport report;
  Expected expected;
  while (report.same()) {
    const auto entry = reader->next();
    if (!entry) {
      return entry.error();
    }
    if (!entry->has_value()) {
      break;
    }
    const auto* event = std::get_if<JournalEvent>(&**entry);
    if (event == nullptr || !expected.empty()) {
      report.difference = compare(*reader, expected);
      report.commands += report.same() ? 1U : 0U;
      continue;
    }
    if (const std::string why = impossible(fresh.state(), *event); !why.empty()) {
      return bad_input(fmt::format("journal:{}: {}", reader->line(), why));
    }
    feed(*event, fresh, expected);
    ++report.events;
  }
  report.unrecorded = report.same() ? expected.size() : 0;
  report.is_cut = reader->is_cut();
  return report;
}

}  // namespace rubato
