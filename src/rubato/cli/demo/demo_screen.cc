#include "rubato/cli/demo/demo_screen.h"

#include <algorithm>
#include <cstdio>
#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/core.h>

namespace rubato {
namespace {

constexpr std::size_t kWidthUnknown = 80;

std::size_t terminal_width() {
  winsize size{};
  const bool is_known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return is_known ? size.ws_col : kWidthUnknown;
}

// The end of the escape sequence that begins at `begin`.
std::size_t escape_end(std::string_view text, std::size_t begin) {
  const std::size_t letter = text.find('m', begin);
  return letter == std::string_view::npos ? text.size() : letter + 1;
}

bool continues_letter(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

}  // namespace

std::string cut_to_width(std::string_view line, std::size_t width) {
  std::string cut;
  std::size_t columns = 0;
  for (std::size_t i = 0; i < line.size();) {
    if (line[i] == '\x1b') {
      const std::size_t end = escape_end(line, i);
      cut += line.substr(i, end - i);
      i = end;
      continue;
    }
    columns += continues_letter(line[i]) ? 0U : 1U;
    if (columns <= width) {
      cut += line[i];
    }
    ++i;
  }
  return cut;
}

void DemoScreen::say(const std::string& line) {
  const std::string kept = shown_;
  clear();
  fmt::print("{}\n", line);
  if (!kept.empty()) {
    show(kept);
  }
  (void)std::fflush(stdout);
}

void DemoScreen::show(const std::string& table) {
  if (!is_terminal_ || table == shown_) {
    return;
  }
  clear();
  const std::size_t width = terminal_width();
  for (std::size_t begin = 0; begin < table.size();) {
    const std::size_t end = std::min(table.find('\n', begin), table.size());
    fmt::print("{}\n", cut_to_width(std::string_view(table).substr(begin, end - begin), width));
    begin = end + 1;
    ++rows_;
  }
  shown_ = table;
  (void)std::fflush(stdout);
}

void DemoScreen::clear() {
  if (rows_ > 0) {
    fmt::print("\x1b[{}A\x1b[J", rows_);
    rows_ = 0;
  }
  shown_.clear();
}

}  // namespace rubato
