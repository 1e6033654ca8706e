// Which commands can be started warm, by a fork of an interpreter that has its modules loaded.
#pragma once

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "rubato/launch/environment.h"

namespace rubato {

/// What must be the same for two commands to come from one zygote: what an interpreter and its
/// libraries read when they are loaded, and not again.
struct ZygoteKey {
  std::string interpreter{};         // A path; links are kept, they choose its modules.
  std::vector<std::string> flags{};  // Its own, before the script.
  Environment load_time{};

  friend auto operator<=>(const ZygoteKey&, const ZygoteKey&) = default;
};

/// A command for a zygote.
struct WarmStart {
  ZygoteKey key{};
  std::size_t script = 0;  // Its place in the command.
};

/// A command that must start from nothing.
struct ColdStart {
  std::string why{};  // Empty: it is no Python at all, so nobody would expect anything else.
};

/// `python3 [-u] script.py ...`, where `interpreter` is the program that the first word means, and
/// which is no script itself. Everything else starts cold.
[[nodiscard]] std::variant<WarmStart, ColdStart> warm_start(const std::vector<std::string>& argv,
                                                            const std::string& interpreter,
                                                            bool is_native,
                                                            const Environment& environment);

}  // namespace rubato
