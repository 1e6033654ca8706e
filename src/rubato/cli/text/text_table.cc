#include "rubato/cli/text/text_table.h"

#include <algorithm>
#include <utility>

#include "rubato/base/check.h"

namespace rubato {
namespace {

constexpr std::size_t kColumnGap = 2;

std::string padded(const std::string& text, std::size_t width, bool is_right) {
  const std::string blanks(width - std::min(width, shown_width(text)), ' ');
  return is_right ? blanks + text : text + blanks;
}

}  // namespace

std::size_t shown_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = std::min(text.find('m', i), text.size() - 1);
    } else if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) {
      ++width;
    }
  }
  return width;
}

TextTable::TextTable(std::vector<std::string> heads) {
  for (std::string& head : heads) {
    is_right_.push_back(head.starts_with('>'));
    if (is_right_.back()) {
      head.erase(0, 1);
    }
  }
  rows_.push_back(std::move(heads));
}

void TextTable::add(std::vector<std::string> cells) {
  RUBATO_CHECK(cells.size() == is_right_.size());
  for (std::string& cell : cells) {
    if (cell.empty()) {
      cell = "-";
    }
  }
  rows_.push_back(std::move(cells));
}

std::string TextTable::text() const {
  std::vector<std::size_t> widths(is_right_.size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], shown_width(row[i]));
    }
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += i == 0 ? "" : std::string(kColumnGap, ' ');
      line += padded(row[i], widths[i], is_right_[i]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace rubato
