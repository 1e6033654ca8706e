// Words for whoever reads this process's log. A log that cannot be written, on a full disk, stops
// nothing: fmt::print would throw.
#pragma once

#include <cstdio>
#include <string>
#include <utility>

#include <fmt/core.h>

namespace rubato {

template <typename... Arguments>
void log_line(std::FILE* log, fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  const std::string line = fmt::format(text, std::forward<Arguments>(arguments)...) + "\n";
  [[maybe_unused]] const std::size_t written = std::fwrite(line.data(), 1, line.size(), log);
}

}  // namespace rubato
