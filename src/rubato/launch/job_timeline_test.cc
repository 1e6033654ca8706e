#include "rubato/launch/job_timeline.h"

#include <gtest/gtest.h>

namespace rubato {
namespace {

TEST(MemoryRecordText, NamesThePiecesOfABatchThatDoesNotFit) {
  EXPECT_EQ(to_text({.worker_bytes = 812'000'000, .batch = 512, .pieces = 4, .piece_rows = 128}),
            "812 MB per worker, batch of 512 in 4 pieces of 128");
  EXPECT_EQ(to_text({.worker_bytes = 812'000'000,
                     .batch = 512,
                     .workers = 2,
                     .pieces = 2,
                     .piece_rows = 128}),
            "812 MB per worker, batch of 512 by 2 workers, each in 2 pieces of 128");
}

TEST(MemoryRecordText, IsShortWhereAllBatchesFitAndEmptyWhereNothingIsKnown) {
  EXPECT_EQ(to_text({.worker_bytes = 300'400'000}), "300 MB per worker");
  EXPECT_EQ(to_text(MemoryRecord{}), "");
}

}  // namespace
}  // namespace rubato
