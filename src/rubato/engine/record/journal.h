// A run as text, one line per event and per command: what a live controller writes before it acts,
// and what brings a run back.
//
//   rubato-journal/2 policy=elasticflow accounting=physical slot=60000000 seed=0 cluster=16x8
//   speed model=net ...
//   event 0 arrival id=0 name=first ...
//   command answer job=0 kind=admit ...
//   command wake at=0
//   event 0 tick
//
// What is known about speed follows the header (journal_speeds.h), the commands of an event follow
// it. Times are microseconds. See journal_text.h for the values. Version 1 had no speeds, and no
// regions and data of jobs; it is refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "rubato/base/result.h"
#include "rubato/base/time.h"
#include "rubato/core/event.h"
#include "rubato/engine/record/journal_speeds.h"
#include "rubato/engine/state/command.h"
#include "rubato/engine/state/node_join.h"
#include "rubato/predict/resize_cost.h"

namespace rubato {

/// All that is needed, beside the speeds, to make the same engine again.
struct JournalHeader {
  std::string policy{};
  ResizeCostModel accounting = ResizeCostModel::Physical;
  Duration slot{};
  Duration restart = kByModel;
  bool grid = false;
  std::uint64_t seed = 0;
  bool share_profiles = false;
  std::string cluster{};  // As Topology::parse reads it.
  std::string tenants{};  // As parse_tenants() reads it.
  std::string placer{};   // As make_placer() reads it; empty: the default.
  double firm_quotes = 0;

  friend bool operator==(const JournalHeader&, const JournalHeader&) = default;
};

struct JournalEvent {
  Instant at{};
  Event event{};
  std::optional<NodeJoin> join{};  // If it is one, `event` says nothing.
};

using JournalEntry = std::variant<JournalEvent, Command>;

// One line each, with its end.
[[nodiscard]] std::string header_line(const JournalHeader& header);
[[nodiscard]] std::string event_line(Instant at, const Event& event);
[[nodiscard]] std::string event_line(Instant at, const NodeJoin& join);
[[nodiscard]] std::string command_line(const Command& command);

/// Reads a journal line by line. Errors name the line. A last line without an end was being written
/// when the writer was killed: it is left out, and is_cut() tells.
class JournalReader {
 public:
  /// Borrows the text.
  static Result<JournalReader> open(std::string_view text);

  [[nodiscard]] const JournalHeader& header() const { return header_; }
  /// Empty if the writer recorded none.
  [[nodiscard]] const JournalSpeeds& speeds() const { return speeds_; }
  /// Nothing at the end.
  [[nodiscard]] Result<std::optional<JournalEntry>> next();

  /// Number and text, without its end, of the line that was read last.
  [[nodiscard]] std::size_t line() const { return line_; }
  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] bool is_cut() const { return is_cut_; }

 private:
  explicit JournalReader(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool advance();
  [[nodiscard]] Status read_speeds();
  [[nodiscard]] Error error(std::string_view problem) const;

  JournalHeader header_;
  JournalSpeeds speeds_;
  std::string_view rest_;
  std::string_view text_;
  std::size_t line_ = 0;
  bool is_cut_ = false;
};

}  // namespace rubato
