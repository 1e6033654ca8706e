#include "rubato/runtime/split/shared_region.h"

#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "rubato/runtime/split/peer_process_test.h"

namespace rubato::runtime::split {
namespace {

TEST(SharedRegion, ShowsWhatAForkHasWritten) {
  const SharedRegion region = *SharedRegion::create(1 << 20);

  PeerProcess peer([&region] {
    region.address()[70'000] = std::byte{7};
    return 0;
  });

  EXPECT_EQ(peer.join(), 0);
  EXPECT_EQ(region.address()[70'000], std::byte{7});
}

TEST(SharedRegion, ShowsWhatWasWrittenThroughAnotherMappingOfItsFile) {
  const int file = ::memfd_create("region", MFD_CLOEXEC);
  ASSERT_EQ(::ftruncate(file, 1 << 20), 0);
  const SharedRegion one = *SharedRegion::map(file, 1 << 20);
  const SharedRegion other = *SharedRegion::map(file, 1 << 20);
  ::close(file);

  one.address()[70'000] = std::byte{7};

  EXPECT_NE(one.address(), other.address());
  EXPECT_EQ(other.address()[70'000], std::byte{7});
}

TEST(SharedRegion, GivesWholePagesBackAndLeavesTheOthers) {
  const SharedRegion region = *SharedRegion::create(1 << 20);
  for (const std::size_t at : {0UL, 4095UL, 4096UL, 65'535UL, 65'536UL}) {
    region.address()[at] = std::byte{1};
  }

  ASSERT_TRUE(region.discard(1, 65'536).ok());

  EXPECT_EQ(region.address()[0], std::byte{1}) << "a page that the range covers in part";
  EXPECT_EQ(region.address()[4095], std::byte{1});
  EXPECT_EQ(region.address()[4096], std::byte{0});
  EXPECT_EQ(region.address()[65'535], std::byte{0});
  EXPECT_EQ(region.address()[65'536], std::byte{1});
  EXPECT_FALSE(region.discard(1 << 20, 1).ok());
}

TEST(SharedRegion, SaysWhyItCannotBe) {
  const auto too_large = SharedRegion::create(std::size_t{1} << 60U);

  ASSERT_FALSE(too_large.ok());
  EXPECT_EQ(too_large.error().code, ErrorCode::Io);
  EXPECT_EQ(too_large.error().message,
            "cannot map 1152921504606846976 bytes of shared memory: Cannot allocate memory");
  EXPECT_FALSE(SharedRegion::create(0).ok());
}

TEST(SharedRegion, HasNoPartsBeyondItsEnd) {
  const SharedRegion region = *SharedRegion::create(4096);

  EXPECT_TRUE(region.part(64, 4032, 64, "a mailbox").ok());
  EXPECT_FALSE(region.part(64, 4033, 64, "a mailbox").ok());
  EXPECT_FALSE(region.part(5000, 0, 1, "a mailbox").ok());
  EXPECT_EQ(region.part(32, 64, 64, "a mailbox").error().message,
            "a mailbox must begin at a multiple of 64, found offset 32");
}

}  // namespace
}  // namespace rubato::runtime::split
