#include "rubato/runtime/split/batch_memory.h"

#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

namespace rubato::runtime::split {
namespace {

/// Runs `check` in a forked process; true if it returned true there.
template <typename Check>
bool holds_in_a_fork(Check check) {
  const pid_t child = fork();
  if (child == 0) {
    _exit(check() ? 0 : 1);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(BatchMemory, IsTheSameMemoryAsItsPartOfTheRegion) {
  const SharedRegion region = SharedRegion::create(1 << 20).value();
  const std::size_t offset = 4 * BatchMemory::page_bytes();
  const BatchMemory batch = BatchMemory::open(region, offset, 100).value();

  region.address()[offset + 99] = std::byte{7};
  batch.bytes()[0] = std::byte{9};

  EXPECT_NE(batch.bytes().data(), region.address() + offset);
  EXPECT_EQ(batch.bytes()[99], std::byte{7});
  EXPECT_EQ(region.address()[offset], std::byte{9});
}

TEST(BatchMemory, BecomesPrivateInAForkWhileTheRegionStaysShared) {
  const SharedRegion region = SharedRegion::create(1 << 20).value();
  BatchMemory batch = BatchMemory::open(region, 0, 100).value();
  batch.bytes()[0] = std::byte{1};
  const std::vector<std::byte> saved(batch.bytes().begin(), batch.bytes().begin() + 100);

  const bool is_private = holds_in_a_fork([&] {
    region.address()[0] = std::byte{2};
    if (!batch.make_private(saved).ok() || batch.bytes()[0] != std::byte{1}) {
      return false;
    }
    batch.bytes()[1] = std::byte{3};
    return true;
  });

  EXPECT_TRUE(is_private);
  EXPECT_EQ(batch.bytes()[0], std::byte{2});
  EXPECT_EQ(batch.bytes()[1], std::byte{0});
}

TEST(BatchMemory, RefusesWhatDoesNotBeginAtAPageOrDoesNotFit) {
  const SharedRegion region = SharedRegion::create(1 << 16).value();
  BatchMemory batch = BatchMemory::open(region, 0, 1).value();
  const std::vector<std::byte> too_long(batch.bytes().size() + 1);

  EXPECT_FALSE(BatchMemory::open(region, 64, 100).ok());
  EXPECT_FALSE(BatchMemory::open(region, 0, (1 << 16) + 1).ok());
  EXPECT_FALSE(batch.make_private(too_long).ok());
}

}  // namespace
}  // namespace rubato::runtime::split
