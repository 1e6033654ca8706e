// What shall happen to a job at which step, as users write it to try out elasticity:
//
//     --resize "at step 100: 4; at step 200: 2"
//     --kill   "worker 1 at step 150; worker 0 at step 180"      (and --stop likewise)
//
// Spaces are free, and a last semicolon may stand. Programs whose steps we cannot see are told in
// seconds: "at second 20: 4".
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "rubato/base/result.h"

namespace rubato {

/// Most entries of a script, and most workers.
constexpr std::size_t kScriptEntriesMax = 10000;
constexpr int kScriptWorkersMax = 4096;

/// From this step on the job has so many workers.
struct ScriptedResize {
  std::uint64_t step = 0;
  int workers = 1;

  friend auto operator<=>(const ScriptedResize&, const ScriptedResize&) = default;
};

/// At this step something happens to the worker that has this rank then.
struct ScriptedFault {
  std::uint64_t step = 0;
  int worker = 0;

  friend auto operator<=>(const ScriptedFault&, const ScriptedFault&) = default;
};

/// In order of step, each step once. `flag` names the text in errors, which also say where the
/// unexpected word is (counted from 1) and what it may have been meant to be.
[[nodiscard]] Result<std::vector<ScriptedResize>> parse_resizes(std::string_view flag,
                                                                std::string_view text,
                                                                std::string_view unit = "step");

/// In order of step and worker, each pair once.
[[nodiscard]] Result<std::vector<ScriptedFault>> parse_faults(std::string_view flag,
                                                              std::string_view text,
                                                              std::string_view unit = "step");

}  // namespace rubato
