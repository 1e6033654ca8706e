// Collects the problems of one trace: a bounded number of errors, and one line per kind of skip.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "rubato/base/result.h"
#include "rubato/trace/text/diagnostic.h"

namespace rubato {

/// After this many errors the rest of the trace is not read: it is probably another format.
inline constexpr std::uint64_t kErrorsMax = 100;

/// Passes diagnostics on, remembers the first error, counts rows that were left out on purpose.
class Problems {
 public:
  Problems(std::string file, DiagnosticSink sink);

  void error(std::uint64_t line, std::string_view field, std::string message,
             std::string suggestion = {});
  void warning(std::uint64_t line, std::string_view field, std::string message,
               std::string suggestion = {});

  /// The row is fine but not for us. `reason` must be one of a fixed set: it is the key that rows
  /// are counted under.
  void skip(std::uint64_t line, std::string_view field, const std::string& reason);

  [[nodiscard]] bool gave_up() const { return errors_ >= kErrorsMax; }

  /// Reports the skips; an error if any row could not be used.
  Status finish();

 private:
  struct Skipped {
    std::uint64_t first_line = 0;
    std::string field{};
    std::uint64_t rows = 0;
  };

  std::string file_;
  DiagnosticSink sink_;
  std::uint64_t errors_ = 0;
  std::string first_error_;
  std::map<std::string, Skipped> skipped_;
};

}  // namespace rubato
