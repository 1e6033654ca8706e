// What is wrong with a trace, where, and what was probably meant.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace rubato {

enum class Severity {
  Warning,  // The job is used, but look at it.
  Error,    // The row cannot be used.
};

[[nodiscard]] std::string_view to_string(Severity severity);

struct Diagnostic {
  Severity severity = Severity::Error;
  std::string file{};
  std::uint64_t line = 0;  // From 1; zero: the file as a whole.
  std::string field{};     // Empty: the whole row.
  std::string message{};   // What was found and what was expected.
  std::string suggestion{};

  friend bool operator==(const Diagnostic&, const Diagnostic&) = default;
};

using DiagnosticSink = std::function<void(Diagnostic&&)>;

/// `trace.csv:17: num_gpu: found '0', expected ...; did you mean ...?`
[[nodiscard]] std::string to_string(const Diagnostic& diagnostic);

/// Foreign text ready for a message: in quotes, shortened, control characters replaced.
[[nodiscard]] std::string shown(std::string_view text);

/// "did you mean 'x'?", or nothing when no candidate is near.
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       std::span<const std::string_view> candidates);

}  // namespace rubato
