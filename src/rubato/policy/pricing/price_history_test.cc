#include "rubato/policy/pricing/price_history.h"

#include <gtest/gtest.h>

namespace rubato::policy::pricing {
namespace {

// Worth 40 at best and 8 late, needs 4 GPU-seconds of 8, may buy one GPU-second at a time.
constexpr PriceSample kSample = {
    .best_value = 40, .late_value = 8, .gpu_time = 4, .top_time = 1, .all_time = 8};

TEST(PriceHistory, KnowsNoPriceBeforeTheFirstJob) {
  EXPECT_EQ(PriceHistory{}.curve(1), planning::PriceCurve{});
}

TEST(PriceHistory, TakesTheRangeFromAJob) {
  PriceHistory history;
  history.observe(kSample);

  EXPECT_EQ(history.curve(1), planning::low_to_high(0.25, 40));  // A quarter of a half of 8 / 4.
}

TEST(PriceHistory, WidensTheRangeWithEachJob) {
  PriceHistory history;
  history.observe(kSample);
  history.observe(
      {.best_value = 10, .late_value = 2, .gpu_time = 4, .top_time = 1, .all_time = 16});
  history.observe(
      {.best_value = 100, .late_value = 90, .gpu_time = 8, .top_time = 2, .all_time = 9});

  EXPECT_EQ(history.curve(1), planning::low_to_high(0.25 * 0.25 * 0.5, 50));
}

TEST(PriceHistory, BelievesOnlyPartOfTheRange) {
  PriceHistory history;
  history.observe(kSample);

  EXPECT_EQ(history.curve(0.5), planning::low_to_high(0.25, 20));
  EXPECT_EQ(history.curve(0), planning::low_to_high(0.25, 0.25));
}

TEST(PriceHistory, ClampsTheRatioOfAJobThatIsWorthNothingLate) {
  PriceHistory history;
  PriceSample steep = kSample;
  steep.late_value = 0;
  history.observe(steep);

  EXPECT_EQ(history.curve(1), planning::low_to_high(40 / PriceHistory::kRatioMax, 40));
}

TEST(PriceHistory, LearnsNothingFromAWorthlessJob) {
  PriceHistory history;
  history.observe({.best_value = 0, .late_value = 0, .gpu_time = 4, .top_time = 1, .all_time = 8});

  EXPECT_EQ(history.curve(1), planning::PriceCurve{});
}

TEST(PriceHistory, ComesBackFromTextAsItWas) {
  PriceHistory history;
  PriceSample odd = kSample;
  odd.late_value = 1.0 / 3;
  history.observe(odd);
  std::string text;
  history.save(text);

  PriceHistory loaded;
  const auto lines = read_lines(text).value();
  ASSERT_EQ(lines.size(), 1U);
  ASSERT_TRUE(loaded.restore(lines.front()));

  EXPECT_EQ(loaded.curve(1), history.curve(1));
  EXPECT_FALSE(loaded.restore(SavedLine{.word = "prices", .numbers = {1}}));
}

}  // namespace
}  // namespace rubato::policy::pricing
