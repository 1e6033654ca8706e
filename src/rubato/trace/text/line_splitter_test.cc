#include "rubato/trace/text/line_splitter.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rubato {
namespace {

using testing::ElementsAre;

// The lines of a text fed in pieces, `<too long>` for those that are.
std::vector<std::string> lines_of(std::string_view text, std::size_t chunk_bytes) {
  LineSplitter splitter;
  std::vector<std::string> lines;
  const auto keep = [&](const Line& line) {
    lines.push_back(line.is_too_long ? "<too long>" : std::string(line.text));
    EXPECT_EQ(line.number, lines.size());
  };
  for (std::size_t i = 0; i < text.size(); i += chunk_bytes) {
    splitter.feed(text.substr(i, chunk_bytes), keep);
  }
  splitter.finish(keep);
  return lines;
}

TEST(LineSplitter, CutsTheSameLinesWhateverTheChunks) {
  const std::string text =
      "\xEF\xBB\xBF"
      "one\r\n\ntwo\nthree";

  for (std::size_t chunk_bytes = 1; chunk_bytes <= text.size(); ++chunk_bytes) {
    EXPECT_THAT(lines_of(text, chunk_bytes), ElementsAre("one", "", "two", "three"));
  }
}

TEST(LineSplitter, AFinalLineEndStartsNoLine) {
  EXPECT_THAT(lines_of("a\nb\n", 3), ElementsAre("a", "b"));
  EXPECT_THAT(lines_of("", 3), ElementsAre());
}

TEST(LineSplitter, DropsALineThatIsTooLongAndGoesOn) {
  const std::string longest(kLineBytesMax, 'x');

  EXPECT_THAT(lines_of("a\n" + longest + "y\nb\n", 1000), ElementsAre("a", "<too long>", "b"));
  EXPECT_THAT(lines_of("a\n" + longest + "y\nb\n", 1 << 22), ElementsAre("a", "<too long>", "b"));
  EXPECT_THAT(lines_of(longest + "\n", 1000), ElementsAre(longest));
  EXPECT_THAT(lines_of(longest + "y", 4096), ElementsAre("<too long>"));
}

}  // namespace
}  // namespace rubato
