#include "rubato/cli/text/terminal.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <unistd.h>

#include <fmt/core.h>

namespace rubato {
namespace {

bool is_plain_wanted() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return (no_colour != nullptr && *no_colour != '\0') ||
         (terminal != nullptr && std::string_view(terminal) == "dumb");
}

}  // namespace

bool shows_colour() { return ::isatty(STDOUT_FILENO) == 1 && !is_plain_wanted(); }

StatusLine::StatusLine() : is_terminal_(::isatty(STDERR_FILENO) == 1) {}

void StatusLine::show(const std::string& text) {
  if (is_terminal_ && text != shown_) {
    fmt::print(stderr, "\r{}\x1b[K", text);
    std::fflush(stderr);
    shown_ = text;
  }
}

void StatusLine::clear() {
  if (is_terminal_ && !shown_.empty()) {
    fmt::print(stderr, "\r\x1b[K");
    std::fflush(stderr);
    shown_.clear();
  }
}

void StatusLine::say(const std::string& line) {
  const std::string kept = shown_;
  clear();
  fmt::print(stderr, "{}\n", line);
  if (!kept.empty()) {
    show(kept);
  }
}

}  // namespace rubato
