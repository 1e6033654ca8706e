#include "rubato/trace/text/seconds_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "rubato/base/parse.h"
#include "rubato/trace/read/record_reader.h"

namespace rubato {
namespace {

TEST(SecondsText, WritesOnlyTheDecimalsThatAreNeeded) {
  EXPECT_EQ(seconds_text(std::chrono::seconds(90)), "90");
  EXPECT_EQ(seconds_text(Duration{1'500'000}), "1.5");
  EXPECT_EQ(seconds_text(Duration{1}), "0.000001");
  EXPECT_EQ(seconds_text(Duration{-500'000}), "-0.5");
}

RC_GTEST_PROP(SecondsText, ReadsBackAsTheSameMicrosecond, ()) {
  const auto last = static_cast<std::int64_t>(kSecondsMax) * 1'000'000;
  const Duration span{*rc::gen::inRange<std::int64_t>(0, last + 1)};

  RC_ASSERT(exact_seconds(parse_double(seconds_text(span)).value()) == span);
}

TEST(SecondsText, IsExactRightUpToTheLimit) {
  const auto last = static_cast<std::int64_t>(kSecondsMax) * 1'000'000;

  for (std::int64_t micros = last - 100'000; micros <= last; ++micros) {
    ASSERT_EQ(exact_seconds(parse_double(seconds_text(Duration{micros})).value()).count(), micros);
  }
}

}  // namespace
}  // namespace rubato
