// The live platform shown on this machine: six real jobs, one of them with a deadline that cannot
// be kept, and one worker that is killed on the way.
#pragma once

#include <cstdint>
#include <string>

namespace rubato {

struct LiveDemoOptions {
  std::string examples{};  // Folder of the training programs; empty: where they usually are.
  int slots = 4;
  // When whoever wants to see it began to prepare for it, in seconds since 1970; 0: does not
  // matter.
  std::int64_t began = 0;
};

/// Zero only if every promise was kept, the impossible one was not given, a worker was killed on
/// the way, and nothing is left of it all.
[[nodiscard]] int run_live_demo(const LiveDemoOptions& options);

}  // namespace rubato
