#include "rubato/policy/saved_state.h"

#include <fmt/core.h>

#include "rubato/base/parse.h"

namespace rubato {

void append_line(std::string& state, std::string_view word,
                 std::initializer_list<std::int64_t> numbers) {
  state += word;
  for (const std::int64_t number : numbers) {
    state += ' ';
    state += std::to_string(number);
  }
  state += '\n';
}

Result<std::vector<SavedLine>> read_lines(std::string_view state) {
  std::vector<SavedLine> lines;
  while (!state.empty()) {
    std::string_view text = take_until(state, '\n');
    SavedLine line{.word = take_until(text, ' ')};
    while (!text.empty()) {
      const std::string_view part = take_until(text, ' ');
      const auto number = parse_int(part);
      if (!number) {
        return bad_input(fmt::format("saved policy state, line {}: '{}' is not a whole number",
                                     lines.size() + 1, part));
      }
      line.numbers.push_back(*number);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

Error unexpected(const SavedLine& line) {
  return bad_input(fmt::format("saved policy state: unexpected line '{}' with {} numbers",
                               line.word, line.numbers.size()));
}

}  // namespace rubato
