// Feeds a journal to a fresh engine and compares what it commands with what was commanded then.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/engine/engine.h"
#include "rubato/engine/record/journal.h"
#include "rubato/predict/speed_book.h"

namespace rubato {

/// The first line that is not what the engine says now.
struct ReplayDifference {
  std::size_t line = 0;
  std::string recorded{};  // Empty: the journal ends here.
  std::string replayed{};  // Empty: the engine commands nothing more.
};

struct ReplayReport {
  std::size_t events = 0;
  std::size_t commands = 0;  // That were recorded and agree.
  /// Commands of the last event that the journal does not have: the writer was killed before.
  std::size_t unrecorded = 0;
  bool is_cut = false;  // The last line had no end and was left out.
  std::optional<ReplayDifference> difference{};

  [[nodiscard]] bool same() const { return !difference.has_value(); }
};

/// An engine as header and speeds describe it.
[[nodiscard]] Result<Engine> engine_for(const JournalHeader& header, const JournalSpeeds& speeds);
/// The engine that wrote this journal, before its first event.
[[nodiscard]] Result<Engine> engine_for(std::string_view journal);

/// Stops at the first difference; commands are compared byte for byte. Errors, with their line, are
/// events that cannot be read or cannot have happened. `fresh` has seen no event yet, and
/// afterwards is where the run had got to.
[[nodiscard]] Result<ReplayReport> replay(std::string_view journal, Engine& fresh);

}  // namespace rubato
