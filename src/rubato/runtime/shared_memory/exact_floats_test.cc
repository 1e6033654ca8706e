#include "rubato/runtime/shared_memory/exact_floats.h"

#include <array>
#include <rapidcheck.h>

#include <gtest/gtest.h>

namespace rubato {
namespace {

TEST(ExactFloats, SurviveASumWithZeros) {
  EXPECT_TRUE(rc::check([](std::uint64_t word) {
    std::array<float, kFloatsPerWord> floats{};
    put_exactly(word, floats);
    for (float& value : floats) {
      value = (0.0F + value) + 0.0F;
    }
    RC_ASSERT(take_exactly(floats) == word);
  }));
}

TEST(ExactFloats, KeepTheSignOfZeroAndTheBitsOfNan) {
  for (const std::uint64_t word : {0x8000'0000'0000'0000U, 0x7ff8'0000'dead'beefU}) {
    std::array<float, kFloatsPerWord> floats{};
    put_exactly(std::bit_cast<double>(std::uint64_t{word}), floats);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(take_double(floats)), word);
  }
}

}  // namespace
}  // namespace rubato
