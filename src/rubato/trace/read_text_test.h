// Shorthands of the reader tests.
#pragma once

#include <string>
#include <vector>

#include "rubato/trace/read_text.h"

namespace rubato {

/// All diagnostics as the user sees them.
inline std::vector<std::string> messages(const TraceText& trace) {
  std::vector<std::string> texts;
  for (const Diagnostic& found : trace.diagnostics) {
    texts.push_back(to_string(found));
  }
  return texts;
}

inline Instant second(double seconds) { return at_seconds(seconds); }

}  // namespace rubato
