#include "rubato/trace/text/json_splitter.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rubato {
namespace {

using testing::ElementsAre;
using testing::Pair;

struct Split {
  std::vector<std::pair<std::uint64_t, std::string>> records{};  // Line and text.
  std::string problem{};
};

Split split(std::string_view text, const std::string& key, std::size_t chunk_bytes = 1) {
  JsonSplitter splitter(key);
  Split result;
  for (std::size_t i = 0; i < text.size(); i += chunk_bytes) {
    splitter.feed(text.substr(i, chunk_bytes), [&](const JsonRecord& record) {
      result.records.emplace_back(record.line,
                                  record.is_too_long ? "<too long>" : std::string(record.text));
    });
  }
  result.problem = splitter.problem(/*at_end=*/true);
  return result;
}

TEST(JsonSplitter, CutsTheObjectsOutOfARootArray) {
  const Split result = split("[\n{\"a\":[1,{}]},\n {\"b\":\"}]\\\"\"}]\n", "");

  EXPECT_THAT(result.records, ElementsAre(Pair(2, R"({"a":[1,{}]})"), Pair(3, R"({"b":"}]\""})")));
  EXPECT_EQ(result.problem, "");
}

TEST(JsonSplitter, FindsTheArrayUnderItsKeyAndNoOther) {
  const Split result = split(
      R"({"meta":{"jobs":[{"x":1}]},"name":"jobs","list":[{"y":2}],"jobs":[{"z":3}],"end":[{}]})",
      "jobs");

  EXPECT_THAT(result.records, ElementsAre(Pair(1, R"({"z":3})")));
  EXPECT_EQ(result.problem, "");
}

TEST(JsonSplitter, SaysWhatIsWrongWithTheBrackets) {
  EXPECT_EQ(split("[{}", "").problem, "the text ends inside a JSON value: the file was cut off");
  EXPECT_EQ(split("[{\"", "").problem, "the text ends inside a JSON value: the file was cut off");
  EXPECT_EQ(split("[{]", "").problem, "a ']' closes nothing");
  EXPECT_EQ(split("7", "").problem, "found no JSON array");
  EXPECT_EQ(split("{\"job\":[]}", "jobs").problem, "found no list 'jobs'");
  EXPECT_EQ(split(std::string(65, '['), "").problem, "nested deeper than 64 levels");
}

TEST(JsonSplitter, DropsAnObjectThatIsTooLongAndGoesOn) {
  const std::string text = "[{\"a\":\"" + std::string(kRecordBytesMax, 'x') + "\"},{\"b\":1}]";

  EXPECT_THAT(split(text, "", 1 << 16).records,
              ElementsAre(Pair(1, "<too long>"), Pair(1, "{\"b\":1}")));
}

}  // namespace
}  // namespace rubato
