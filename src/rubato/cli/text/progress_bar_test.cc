#include "rubato/cli/text/progress_bar.h"

#include <gtest/gtest.h>

namespace rubato {
namespace {

TEST(ProgressBar, NamesWhatIsUnderWay) {
  ProgressBar bar({"fifo", "srtf", "edf"}, /*is_terminal=*/false, /*is_quiet=*/true);

  EXPECT_EQ(bar.words(), "0 of 3 runs");
  bar.update(0, 0, 10);
  bar.update(1, 5, 10);
  EXPECT_EQ(bar.words(), "0 of 3 runs, now fifo, srtf");
  EXPECT_EQ(bar.percent(), 16);
  bar.finish(0);
  EXPECT_EQ(bar.words(), "1 of 3 runs, now srtf");
  EXPECT_EQ(bar.percent(), 50);
}

TEST(ProgressBar, EndsAtAHundredEvenIfARunFails) {
  ProgressBar bar({"a", "b", "c"}, /*is_terminal=*/false, /*is_quiet=*/true);

  bar.update(1, 1, 10);
  for (const std::size_t run : {0U, 1U, 2U}) {
    bar.finish(run);
  }

  EXPECT_EQ(bar.percent(), 100);
  EXPECT_EQ(bar.words(), "3 of 3 runs");
}

TEST(ProgressBar, KeepsLongNamesOnOneLine) {
  ProgressBar bar({std::string(80, 'x')}, /*is_terminal=*/false, /*is_quiet=*/true);

  bar.update(0, 0, 1);

  EXPECT_LT(bar.words().size(), 60U);
}

}  // namespace
}  // namespace rubato
