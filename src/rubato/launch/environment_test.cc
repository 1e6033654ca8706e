#include "rubato/launch/environment.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rubato {
namespace {

TEST(Environment, HoldsWhatThisProcessWasGiven) {
  ::setenv("RUBATO_ENVIRONMENT_TEST", "a=b", 1);

  const Environment inherited = inherited_environment();
  ::unsetenv("RUBATO_ENVIRONMENT_TEST");

  EXPECT_EQ(value_or(inherited, "RUBATO_ENVIRONMENT_TEST", ""), "a=b");
  EXPECT_EQ(value_or(inherited_environment(), "RUBATO_ENVIRONMENT_TEST", "none"), "none");
}

TEST(Environment, TakesChangesOverWhatWasThere) {
  const Environment changed = overridden({{"A", "1"}, {"B", "2"}}, {{"B", "3"}, {"C", ""}});

  EXPECT_THAT(assignments(changed), testing::ElementsAre("A=1", "B=3", "C="));
}

}  // namespace
}  // namespace rubato
