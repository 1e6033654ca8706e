#include "rubato/launch/logs/line_cutter.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace rubato {
namespace {

using Lines = std::vector<std::string>;

// The lines of the parts, fed one after the other.
Lines lines_of(const Lines& parts, std::size_t line_max = 100) {
  LineCutter cutter(line_max);
  Lines lines;
  const auto sink = [&](std::string_view line) { lines.emplace_back(line); };
  for (const std::string& part : parts) {
    cutter.feed(part, sink);
  }
  cutter.finish(sink);
  return lines;
}

TEST(LineCutter, JoinsWhatArrivesInParts) {
  EXPECT_EQ(lines_of({"on", "e\ntw", "", "o\n\n", "three"}),
            (Lines{"one\n", "two\n", "\n", "three\n"}));
}

TEST(LineCutter, TakesACarriageReturnForAnEndAsWell) {
  EXPECT_EQ(lines_of({"10%\r20%\r", "30%\r", "\nend\r\n"}),
            (Lines{"10%\r", "20%\r", "30%\r\n", "end\r\n"}));
  EXPECT_EQ(lines_of({"last\r"}), (Lines{"last\r"}));
}

TEST(LineCutter, CutsALineThatIsTooLongAndGoesOnWithTheNext) {
  EXPECT_EQ(lines_of({"abc", "def", "g\nshort\n"}, 4),
            (Lines{"abcd [... 3 bytes cut]\n", "shor [... 1 bytes cut]\n"}));
  EXPECT_EQ(lines_of({"abcd\n"}, 4), (Lines{"abcd\n"}));
}

RC_GTEST_PROP(LineCutter, LosesAndAddsNothing, (std::vector<std::string> parts)) {
  std::string all;
  for (const std::string& part : parts) {
    all += part;
  }
  std::string joined;
  for (const std::string& line : lines_of(parts, 1'000'000)) {
    RC_ASSERT(line.find('\n') == std::string::npos || line.find('\n') == line.size() - 1);
    joined += line;
  }
  const bool has_end = all.empty() || all.back() == '\n' || all.back() == '\r';
  RC_ASSERT(joined == all + (has_end ? "" : "\n"));
}

}  // namespace
}  // namespace rubato
