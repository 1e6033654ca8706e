#include "rubato/wire/timestamp.h"

#include <gtest/gtest.h>

#include "rubato/base/random.h"

namespace rubato {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

TEST(Timestamp, IsUnsetForNever) {
  EXPECT_FALSE(to_timestamp(kNever).has_value());
  EXPECT_FALSE(to_timestamp(Instant::min()).has_value());
}

TEST(Timestamp, HasSecondsAndNanosecondsThatAreNeverNegative) {
  const auto after = to_timestamp(Instant{microseconds(1'000'002)});
  const auto before = to_timestamp(Instant{microseconds(-1)});

  EXPECT_EQ(after->seconds(), 1);
  EXPECT_EQ(after->nanos(), 2'000);
  EXPECT_EQ(before->seconds(), -1);
  EXPECT_EQ(before->nanos(), 999'999'000);
}

TEST(Timestamp, ReachesFromTheFirstYearToTheLast) {
  const Instant first{microseconds(-62'135'596'800'000'000)};
  const Instant last{microseconds(253'402'300'799'999'999)};

  EXPECT_TRUE(to_timestamp(first).has_value());
  EXPECT_TRUE(to_timestamp(last).has_value());
  EXPECT_FALSE(to_timestamp(first - microseconds(1)).has_value());
  EXPECT_FALSE(to_timestamp(last + microseconds(1)).has_value());
}

TEST(Timestamp, ComesBackAsItWas) {
  Random random(1);
  for (int i = 0; i < 2'000; ++i) {
    const Instant moment{
        Duration{random.integer(-62'135'596'800'000'000, 253'402'300'799'999'999)}};

    EXPECT_EQ(*from_timestamp(*to_timestamp(moment)), moment);
  }
}

TEST(Timestamp, IsCutToMicrosecondsSoThatNoDeadlineMovesLater) {
  google::protobuf::Timestamp timestamp;
  timestamp.set_nanos(1'999);
  EXPECT_EQ(*from_timestamp(timestamp), Instant{microseconds(1)});

  timestamp.set_seconds(-1);
  EXPECT_EQ(*from_timestamp(timestamp), Instant{microseconds(-999'999)});
}

TEST(Timestamp, IsRefusedOutOfRange) {
  google::protobuf::Timestamp timestamp;
  timestamp.set_nanos(1'000'000'000);
  EXPECT_FALSE(from_timestamp(timestamp).ok());
  timestamp.set_nanos(-1);
  EXPECT_FALSE(from_timestamp(timestamp).ok());
  timestamp.set_nanos(0);
  timestamp.set_seconds(std::numeric_limits<std::int64_t>::max());
  EXPECT_FALSE(from_timestamp(timestamp).ok());
}

}  // namespace
}  // namespace rubato
