// Which file a command means, found as execvp finds it, but in the environment of the command.
#pragma once

#include <string>

#include "rubato/base/result.h"
#include "rubato/launch/environment.h"

namespace rubato {

/// A name with a slash is a path, from `directory` if it is relative; any other name is looked up
/// in PATH. Absolute, unless `directory` is empty or PATH has relative entries. Links are kept: the
/// name by which an interpreter is called decides where it looks for its modules.
[[nodiscard]] Result<std::string> program_path(const std::string& name,
                                               const Environment& environment,
                                               const std::string& directory);

/// True for a program that the kernel loads itself, false for scripts and what cannot be read.
[[nodiscard]] bool is_native_program(const std::string& path);

}  // namespace rubato
