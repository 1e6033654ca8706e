#include "rubato/cli/train/resize_script.h"

#include <array>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "rubato/base/random.h"

namespace rubato {
namespace {

std::string resize_error(std::string_view text) {
  const auto parsed = parse_resizes("--resize", text);
  return parsed.ok() ? "none" : parsed.error().message;
}

std::string kill_error(std::string_view text) {
  const auto parsed = parse_faults("--kill", text);
  return parsed.ok() ? "none" : parsed.error().message;
}

TEST(ResizeScript, ReadsResizesInOrderOfStep) {
  const auto resizes = parse_resizes("--resize", "at step 200: 2; at step 100: 4");

  ASSERT_TRUE(resizes.ok());
  EXPECT_THAT(*resizes, testing::ElementsAre(ScriptedResize{.step = 100, .workers = 4},
                                             ScriptedResize{.step = 200, .workers = 2}));
}

TEST(ResizeScript, ReadsFaultsInOrderOfStep) {
  const auto faults =
      parse_faults("--kill", "worker 1 at step 180; worker 1 at step 150; worker 0 at step 180");

  ASSERT_TRUE(faults.ok());
  EXPECT_THAT(*faults, testing::ElementsAre(ScriptedFault{.step = 150, .worker = 1},
                                            ScriptedFault{.step = 180, .worker = 0},
                                            ScriptedFault{.step = 180, .worker = 1}));
}

TEST(ResizeScript, IsFreeAboutSpaces) {
  EXPECT_EQ(parse_resizes("--resize", "  at  step 1:2;at step 3 :\t4 ; ")->size(), 2U);
  EXPECT_TRUE(parse_resizes("--resize", "")->empty());
  EXPECT_TRUE(parse_faults("--stop", "  ")->empty());
}

TEST(ResizeScript, SaysWhereWhatAndWhatWasMeant) {
  EXPECT_EQ(resize_error("at step 100: 4; at stepp 200: 2"),
            "--resize, character 20: expected 'step', found 'stepp'; did you mean 'step'?");
  EXPECT_EQ(kill_error("wroker 1 at step 2"),
            "--kill, character 1: expected 'worker', found 'wroker'; did you mean 'worker'?");
  EXPECT_EQ(resize_error("at step ten: 4"), "--resize, character 9: expected a step, found 'ten'");
  EXPECT_EQ(resize_error("at step 10"), "--resize, character 11: expected ':', found the end");
  EXPECT_EQ(resize_error("at step 10: 4 at step 20: 2"),
            "--resize, character 15: expected ';', found 'at'");
  EXPECT_EQ(resize_error(";"), "--resize, character 1: expected 'at', found ';'");
}

TEST(ResizeScript, RefusesNumbersThatCannotBe) {
  EXPECT_EQ(resize_error("at step 1: 0"),
            "--resize, character 12: a number of workers is 0, it must be between 1 and 4096");
  EXPECT_THAT(resize_error("at step -1: 2"), testing::HasSubstr("a step is -1"));
  EXPECT_THAT(resize_error("at step 99999999999999999999: 2"),
              testing::HasSubstr("expected a step"));
  EXPECT_THAT(kill_error("worker 4096 at step 1"), testing::HasSubstr("a worker is 4096"));
}

TEST(ResizeScript, RefusesWhatIsGivenTwice) {
  EXPECT_EQ(resize_error("at step 5: 2; at step 5: 3"), "--resize: step 5 is given twice");
  EXPECT_EQ(kill_error("worker 1 at step 5; worker 1 at step 5"),
            "--kill: worker 1 at step 5 is given twice");
  EXPECT_EQ(kill_error("worker 1 at step 5; worker 2 at step 5"), "none");
}

TEST(ResizeScript, HasALimit) {
  std::string text;
  for (std::size_t i = 0; i <= kScriptEntriesMax; ++i) {
    text += "at step " + std::to_string(i) + ": 1;";
  }

  EXPECT_THAT(resize_error(text), testing::HasSubstr("more than 10000 entries"));
}

RC_GTEST_PROP(ResizeScript, AlwaysEndsWithAnAnswer, (std::uint64_t seed)) {
  static constexpr std::array<std::string_view, 12> kWords = {
      "at", "step", "worker", ":", ";", " ", "1", "-2", "at step 3: 4", "x", "\t", "999999999999"};
  Random random(seed);
  std::string text;
  for (auto left = random.integer(0, 20); left > 0; --left) {
    text += kWords[static_cast<std::size_t>(random.integer(0, 11))];
    text += random.chance(0.5) ? " " : "";
  }

  const std::string resize_answer = resize_error(text);
  const std::string kill_answer = kill_error(text);

  RC_ASSERT((resize_answer == "none" || resize_answer.starts_with("--resize")));
  RC_ASSERT((kill_answer == "none" || kill_answer.starts_with("--kill")));
}

}  // namespace
}  // namespace rubato
