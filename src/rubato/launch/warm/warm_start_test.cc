#include "rubato/launch/warm/warm_start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rubato {
namespace {

std::variant<WarmStart, ColdStart> start(const std::vector<std::string>& argv,
                                         const Environment& environment = {}) {
  return warm_start(argv, "/usr/bin/python3", /*is_native=*/true, environment);
}

bool is_warm(const std::vector<std::string>& argv, const Environment& environment = {}) {
  return std::holds_alternative<WarmStart>(start(argv, environment));
}

TEST(WarmStart, TakesScriptsOfPython) {
  EXPECT_TRUE(is_warm({"python3", "train.py"}));
  EXPECT_TRUE(is_warm({"/opt/venv/bin/python3.11", "-u", "train.py", "--lr", "-c"}));
  EXPECT_TRUE(is_warm({"python", "-u", "-u", "/a b/train.py"}));
}

TEST(WarmStart, LeavesEverythingElseCold) {
  EXPECT_FALSE(is_warm({}));
  EXPECT_FALSE(is_warm({"python3"}));
  EXPECT_FALSE(is_warm({"python3", "-u"}));
  EXPECT_FALSE(is_warm({"python3", "-m", "train"}));
  EXPECT_FALSE(is_warm({"python3", "-c", "print()"}));
  EXPECT_FALSE(is_warm({"python3", "-O", "train.py"}));
  EXPECT_FALSE(is_warm({"python3", "folder"}));
  EXPECT_FALSE(is_warm({"python2", "train.py"}));
  EXPECT_FALSE(is_warm({"python3-config", "train.py"}));
  EXPECT_FALSE(is_warm({"./train.py"}));
  EXPECT_FALSE(is_warm({"bash", "train.py"}));
}

TEST(WarmStart, RespectsWhatAsksForAnInterpreterOfItsOwn) {
  EXPECT_FALSE(is_warm({"python3", "train.py"}, {{"PYTHONINSPECT", "1"}}));
  EXPECT_FALSE(is_warm({"python3", "train.py"}, {{"PYTHONHASHSEED", "random"}}));
  EXPECT_TRUE(is_warm({"python3", "train.py"}, {{"PYTHONHASHSEED", "3"}}));
}

TEST(WarmStart, SaysThatAShimIsNoInterpreter) {
  const auto verdict = warm_start({"python3", "x.py"}, "/shims/python3", /*is_native=*/false, {});

  ASSERT_TRUE(std::holds_alternative<ColdStart>(verdict));
  EXPECT_THAT(std::get<ColdStart>(verdict).why, testing::HasSubstr("/shims/python3"));
}

TEST(WarmStart, NamesTheZygoteByWhatIsReadOnceOnly) {
  const auto verdict = start({"python3", "-u", "train.py"}, {{"RANK", "3"},
                                                             {"TORCHELASTIC_RUN_ID", "a"},
                                                             {"OPENBLAS_NUM_THREADS", "4"},
                                                             {"OMP_NUM_THREADS", "4"},
                                                             {"PYTHONPATH", "/p"},
                                                             {"LD_LIBRARY_PATH", "/l"},
                                                             {"LANG", "C"}});

  const auto& warm = std::get<WarmStart>(verdict);
  EXPECT_EQ(warm.script, 2U);
  EXPECT_EQ(warm.key.interpreter, "/usr/bin/python3");
  EXPECT_THAT(warm.key.flags, testing::ElementsAre("-u"));
  EXPECT_THAT(
      assignments(warm.key.load_time),
      testing::ElementsAre("LANG=C", "LD_LIBRARY_PATH=/l", "OMP_NUM_THREADS=4", "PYTHONPATH=/p"));
}

TEST(WarmStart, GivesWorkersOfOneJobOneZygote) {
  const auto first = std::get<WarmStart>(start({"python3", "a.py"}, {{"RANK", "0"}}));
  const auto second = std::get<WarmStart>(start({"python3", "b.py", "x"}, {{"RANK", "1"}}));
  const auto other = std::get<WarmStart>(start({"python3", "-u", "a.py"}, {{"RANK", "0"}}));

  EXPECT_EQ(first.key, second.key);
  EXPECT_NE(first.key, other.key);
}

}  // namespace
}  // namespace rubato
