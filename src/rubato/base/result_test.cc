#include "rubato/base/result.h"

#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace rubato {
namespace {

TEST(Result, HoldsAValue) {
  Result<std::string> result(std::string("ok"));

  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(static_cast<bool>(result));
  EXPECT_EQ(*result, "ok");
  EXPECT_EQ(result->size(), 2U);
  *result = "changed";
  EXPECT_EQ(result.value(), "changed");
}

TEST(Result, HoldsAnError) {
  const Result<int> result = bad_input("gpus is -1");

  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::BadInput);
  EXPECT_EQ(result.error().message, "gpus is -1");
}

TEST(Result, GivesAwayAValueThatCannotBeCopied) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));

  const std::unique_ptr<int> value = std::move(result).value();

  EXPECT_EQ(*value, 7);
}

TEST(Result, SaysThatAllIsWellWithoutAValue) { EXPECT_TRUE(ok_status().ok()); }

TEST(ResultDeathTest, StopsWhoeverReadsWhatIsNotThere) {
  const Result<int> failed = bad_input("no");
  const Result<int> fine = 1;

  EXPECT_DEATH(static_cast<void>(failed.value()), "does not hold");
  EXPECT_DEATH(static_cast<void>(fine.error()), "does not hold");
}

}  // namespace
}  // namespace rubato
