#include "rubato/runtime/group/reaper.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace rubato {
namespace {

TEST(Reaper, RunsEverythingInOrderOnAThreadOfItsOwnBeforeItEnds) {
  std::vector<int> seen;
  std::thread::id where{};
  {
    Reaper reaper;
    for (int i = 0; i < 100; ++i) {
      reaper.take([&seen, &where, i] {
        seen.push_back(i);
        where = std::this_thread::get_id();
      });
    }
  }
  ASSERT_EQ(seen.size(), 100U);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(seen[static_cast<std::size_t>(i)], i);
  }
  EXPECT_NE(where, std::this_thread::get_id());
}

TEST(Reaper, LetsGoOfWhatItWasGiven) {
  const auto held = std::make_shared<int>(1);
  {
    Reaper reaper;
    reaper.take([held] {});
  }
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace rubato
