#include "rubato/engine/record/journal.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "rubato/base/parse.h"
#include "rubato/engine/record/job_fields.h"
#include "rubato/engine/record/journal_text.h"

namespace rubato {
namespace {

constexpr std::string_view kFormat = "rubato-journal/2";
constexpr std::string_view kOldFormat = "rubato-journal/1";

// Words for enums, in the order of their values.
using Words3 = std::array<std::string_view, 3>;
constexpr Words3 kAccountings = {"none", "artifact", "physical"};
constexpr Words3 kOutcomes = {"finished", "failed", "cancelled"};

// The fields of each struct, once for writing (const) and reading.

void fields(auto& line, Is<JournalHeader> auto& header) {
  line.field("policy", header.policy);
  line.choice("accounting", header.accounting, kAccountings);
  line.field("slot", header.slot);
  line.field("restart", header.restart);
  line.field("grid", header.grid);
  line.field("seed", header.seed);
  line.field("share_profiles", header.share_profiles);
  line.field("cluster", header.cluster);
  line.field("tenants", header.tenants);
  line.field("placer", header.placer);
  line.optional_field("firm_quotes", header.firm_quotes);
}

void fields(auto& line, Is<Completion> auto& completion) {
  line.field("job", completion.job);
  line.choice("outcome", completion.outcome, kOutcomes);
}

void fields(auto& line, Is<NodeChange> auto& change) {
  line.field("node", change.node);
  line.field("up", change.up);
}

void fields(auto& line, Is<NodeJoin> auto& join) {
  line.field("node", join.node);
  node_fields(line, join.what);
}

// The observation of a report, made if one is being read.
const StepObservation& step_of(const ProgressReport& report) { return *report.step; }
StepObservation& step_of(ProgressReport& report) {
  return report.step ? *report.step : report.step.emplace();
}

void fields(auto& line, Is<ProgressReport> auto& report) {
  line.field("job", report.job);
  line.field("done", report.done);
  line.field("speed", report.speed);
  line.field("workers", report.workers);
  bool has_step = report.step.has_value();
  line.field("step", has_step);
  if (has_step) {
    step_fields(line, step_of(report));
  }
}

void fields(auto& line, Is<OfferReply> auto& reply) {
  line.field("job", reply.job);
  line.field("accepted", reply.accepted);
}

void fields(auto& line, Is<Arrival> auto& arrival) { job_fields(line, arrival.job); }

void fields(auto& /*line*/, Is<Tick> auto& /*tick*/) {}

void fields(auto& line, Is<Answer> auto& answer) { verdict_fields(line, answer.verdict); }

void fields(auto& line, Is<Run> auto& run) {
  line.field("job", run.job);
  line.field("pool", run.placement.pool);
  line.field("gpus", run.placement.ranges);
  line.field("pause", run.pause);
  line.field("local_batch", run.split.local);
  line.field("accumulation", run.split.accumulation);
}

void fields(auto& line, Is<Rebatch> auto& rebatch) {
  line.field("job", rebatch.job);
  line.field("local_batch", rebatch.split.local);
  line.field("accumulation", rebatch.split.accumulation);
}

void fields(auto& line, Is<Suspend> auto& suspend) { line.field("job", suspend.job); }

void fields(auto& line, Is<Stall> auto& stall) {
  line.field("job", stall.job);
  line.field("pause", stall.pause);
}

void fields(auto& line, Is<Wake> auto& wake) { line.field("at", wake.at); }

void fields(auto& line, Is<Alarm> auto& alarm) { line.field("fault", alarm.fault); }

// Words for the alternatives of the two variants, in their order.
constexpr std::array<std::string_view, std::variant_size_v<Event>> kEvents = {
    "completion", "node", "measured", "reply", "arrival", "tick"};
constexpr std::string_view kJoin = "join";
constexpr std::array<std::string_view, std::variant_size_v<Command>> kCommands = {
    "answer", "run", "rebatch", "suspend", "stall", "wake", "alarm"};

std::string entry_line(std::string_view words, const auto& entry) {
  LineWriter line(words);
  std::visit([&](const auto& each) { fields(line, each); }, entry);
  return std::move(line).text() + "\n";
}

// Makes `entry` hold its alternative number `index`, with default values.
template <typename Variant, std::size_t... Indices>
void hold(Variant& entry, std::size_t index, std::index_sequence<Indices...> /*all*/) {
  ((index == Indices ? void(entry.template emplace<Indices>()) : void()), ...);
}

// Reads the kind and the fields of an event or command; the problem, if there is one.
template <typename Variant, std::size_t Kinds>
std::string read(LineReader& line, const std::array<std::string_view, Kinds>& kinds,
                 Variant& entry) {
  const std::string_view word = line.word();
  const auto kind = std::ranges::find(kinds, word);
  if (kind == kinds.end()) {
    return fmt::format("unknown kind '{}'", word);
  }
  hold(entry, static_cast<std::size_t>(kind - kinds.begin()), std::make_index_sequence<Kinds>{});
  std::visit([&](auto& each) { fields(line, each); }, entry);
  return line.problem();
}

}  // namespace

std::string header_line(const JournalHeader& header) {
  LineWriter line(kFormat);
  fields(line, header);
  return std::move(line).text() + "\n";
}

std::string event_line(Instant at, const Event& event) {
  return entry_line(
      fmt::format("event {} {}", at.time_since_epoch().count(), kEvents.at(event.index())), event);
}

std::string event_line(Instant at, const NodeJoin& join) {
  LineWriter line(fmt::format("event {} {}", at.time_since_epoch().count(), kJoin));
  fields(line, join);
  return std::move(line).text() + "\n";
}

std::string command_line(const Command& command) {
  return entry_line(fmt::format("command {}", kCommands.at(command.index())), command);
}

// Goes to the next whole line; false at the end.
bool JournalReader::advance() {
  const std::size_t end = rest_.find('\n');
  if (end == std::string_view::npos) {
    is_cut_ = !rest_.empty();
    return false;
  }
  text_ = rest_.substr(0, end);
  rest_.remove_prefix(end + 1);
  ++line_;
  return true;
}

Error JournalReader::error(std::string_view problem) const {
  return bad_input(fmt::format("journal:{}: {}", line_, problem));
}

Result<JournalReader> JournalReader::open(std::string_view text) {
  JournalReader reader(text);
  if (!reader.advance()) {
    return bad_input(fmt::format("journal:1: '{}' expected, no whole line found", kFormat));
  }
  LineReader line(reader.text_);
  if (const std::string_view format = line.word(); format != kFormat) {
    return reader.error(fmt::format("'{}' expected, '{}' found{}", kFormat, format,
                                    format == kOldFormat ? ", which older versions wrote" : ""));
  }
  fields(line, reader.header_);
  if (const std::string problem = line.problem(); !problem.empty()) {
    return reader.error(problem);
  }
  if (const Status read = reader.read_speeds(); !read) {
    return read.error();
  }
  return reader;
}

// Reads the lines on speed that stand next.
Status JournalReader::read_speeds() {
  SpeedLinesReader lines;
  while (SpeedLinesReader::knows(rest_.substr(0, rest_.find_first_of(" \n"))) && advance()) {
    LineReader line(text_);
    const std::string_view word = line.word();
    if (const std::string problem = lines.take(word, line, speeds_); !problem.empty()) {
      return error(problem);
    }
  }
  const std::string missing = lines.missing(speeds_);
  return missing.empty() ? ok_status() : error(missing);
}

Result<std::optional<JournalEntry>> JournalReader::next() {
  if (!advance()) {
    return std::optional<JournalEntry>{};
  }
  LineReader line(text_);
  const std::string_view what = line.word();
  if (what == "command") {
    Command command;
    const std::string problem = read(line, kCommands, command);
    return problem.empty() ? Result(std::optional<JournalEntry>(std::move(command)))
                           : error(problem);
  }
  if (what != "event") {
    return error(fmt::format("'event' or 'command' expected, '{}' found", what));
  }
  const std::string_view time = line.word();
  const auto micros = parse_int(time);
  if (!micros) {
    return error(fmt::format("time: '{}' is not a number of microseconds", time));
  }
  JournalEvent event{.at = Instant{Duration{*micros}}};
  LineReader peeked = line;
  if (peeked.word() == kJoin) {
    line = peeked;
    fields(line, event.join.emplace());
    const std::string wrong = line.problem();
    return wrong.empty() ? Result(std::optional<JournalEntry>(std::move(event))) : error(wrong);
  }
  const std::string problem = read(line, kEvents, event.event);
  return problem.empty() ? Result(std::optional<JournalEntry>(std::move(event))) : error(problem);
}

}  // namespace rubato
