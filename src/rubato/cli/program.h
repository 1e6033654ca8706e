// The `rubato` program: its verbs, and exit codes for words it does not know.
#pragma once

#include <string>
#include <vector>

namespace rubato {

/// Runs the program with its arguments, the program's own name first; returns the exit code.
[[nodiscard]] int run_program(const std::vector<std::string>& arguments);

}  // namespace rubato
