#include "rubato/cli/simulate/policy_names.h"

#include <gtest/gtest.h>

namespace rubato {
namespace {

using Names = std::vector<std::string>;

TEST(SplitPolicies, SplitsAtCommas) {
  EXPECT_EQ(split_policies({"fifo,edf"}), (Names{"fifo", "edf"}));
}

TEST(SplitPolicies, KeepsOptionsTogether) {
  EXPECT_EQ(split_policies({"fifo,tiresias:thresholds=1/2,gittins=on,edf"}),
            (Names{"fifo", "tiresias:thresholds=1/2,gittins=on", "edf"}));
}

TEST(SplitPolicies, TakesRepeatedArgumentsAndSkipsEmptyParts) {
  EXPECT_EQ(split_policies({"fifo,", "edf", ""}), (Names{"fifo", "edf"}));
}

}  // namespace
}  // namespace rubato
