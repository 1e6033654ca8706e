// `rubato trace lint`: what is wrong or odd in a trace.
#pragma once

#include <iosfwd>
#include <string>

namespace rubato {

struct TraceLintCommand {
  std::string path{};
  std::string format = "auto";
  int cluster_gpus = 0;  // Zero: sizes are not checked.
  std::string speeds{};  // File whose models are the known ones; empty: models are not checked.
  bool is_json = false;
};

/// Prints all findings. Returns the exit code: 65 if the trace cannot be used as it is.
int run_trace_lint(const TraceLintCommand& command, std::ostream& out, std::ostream& error);

}  // namespace rubato
