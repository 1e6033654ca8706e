// What the workers of a job on this machine see in their environment.
#pragma once

#include <string>

#include "rubato/launch/environment.h"

namespace rubato {

/// Our own environment, settings that make workers fast, and what makes an unmodified Python script
/// elastic.
[[nodiscard]] Environment worker_environment();

/// The path of this program.
[[nodiscard]] std::string own_program();

}  // namespace rubato
