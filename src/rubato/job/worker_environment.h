// What the workers of a job on this machine see in their environment.
#pragma once

#include <string>

#include "rubato/launch/environment.h"

namespace rubato {

/// Our own environment and settings that make workers fast.
[[nodiscard]] Environment worker_environment();

/// Adds what makes Python scripts elastic. To be called when all else is set: whatever a user has
/// put in PYTHONPATH comes after it.
[[nodiscard]] Environment with_python_hook(Environment environment);

/// The path of this program.
[[nodiscard]] std::string own_program();

}  // namespace rubato
