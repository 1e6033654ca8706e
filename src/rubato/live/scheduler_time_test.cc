#include "rubato/live/scheduler_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/base/random.h"

namespace rubato {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::seconds;
using testing::HasSubstr;

/// Time that stands still unless told otherwise.
struct PretendedTime {
  Instant system{seconds(1'000)};
  Duration elapsed{seconds(50)};

  [[nodiscard]] TimeSources sources() {
    return {.system = [this] { return system; }, .elapsed = [this] { return elapsed; }};
  }
};

TEST(ServiceClock, StartsAtTheSystemsTimeAndGoesOnWithWhatPasses) {
  PretendedTime time;
  const ServiceClock clock(Instant{}, time.sources());

  EXPECT_EQ(clock.now(), Instant{seconds(1'000)});
  time.elapsed += seconds(7);
  EXPECT_EQ(clock.now(), Instant{seconds(1'007)});
}

TEST(ServiceClock, DoesNotFollowJumpsOfTheSystemsClockButTellsOfThem) {
  PretendedTime time;
  const ServiceClock clock(Instant{}, time.sources());

  time.system -= hours(1);
  EXPECT_EQ(clock.now(), Instant{seconds(1'000)});
  EXPECT_EQ(clock.system_ahead(), -hours(1));
  time.system += hours(3);
  EXPECT_EQ(clock.now(), Instant{seconds(1'000)});
  EXPECT_EQ(clock.system_ahead(), hours(2));
}

TEST(ServiceClock, GoesOnWhereTheJournalEndsIfTheSystemIsBehindIt) {
  PretendedTime time;
  const ServiceClock clock(Instant{seconds(5'000)}, time.sources());

  EXPECT_EQ(clock.now(), Instant{seconds(5'000)});
  time.elapsed += microseconds(1);
  EXPECT_EQ(clock.now(), Instant{seconds(5'000)} + microseconds(1));
}

TEST(ServiceClock, NeverGoesBackBeforeItsStart) {
  PretendedTime time;
  const ServiceClock clock(Instant{}, time.sources());

  time.elapsed = Duration::zero();

  EXPECT_EQ(clock.now(), Instant{seconds(1'000)});
}

TEST(ServiceClock, SaysWhenToWake) {
  PretendedTime time;
  const ServiceClock clock(Instant{}, time.sources());
  const auto before = std::chrono::steady_clock::now();

  const auto due = clock.steady_at(clock.now() + seconds(10));

  EXPECT_GE(due, before + seconds(10));
  EXPECT_LE(due, std::chrono::steady_clock::now() + seconds(10));
  const auto overdue = clock.steady_at(Instant::min());
  EXPECT_LE(overdue, std::chrono::steady_clock::now());
  EXPECT_EQ(clock.steady_at(kNever), std::chrono::steady_clock::time_point::max());
}

TEST(ServiceClock, ReadsTheRealClocks) {
  const ServiceClock clock(Instant{});

  const Instant first = clock.now();
  const Instant second = clock.now();

  EXPECT_GT(first, Instant{hours(24 * 365 * 50)});
  EXPECT_GE(second, first);
}

TEST(Timestamp, IsUnsetForNever) {
  EXPECT_FALSE(to_timestamp(kNever).has_value());
  EXPECT_FALSE(to_timestamp(Instant::min()).has_value());
  EXPECT_EQ(to_rfc3339(kNever), "");
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
  const Instant first = *parse_rfc3339("0001-01-01T00:00:00Z");
  const Instant last = *parse_rfc3339("9999-12-31T23:59:59.999999Z");

  EXPECT_EQ(to_rfc3339(first), "0001-01-01T00:00:00Z");
  EXPECT_EQ(to_rfc3339(last), "9999-12-31T23:59:59.999999Z");
  EXPECT_EQ(to_rfc3339(first - microseconds(1)), "");
  EXPECT_EQ(to_rfc3339(last + microseconds(1)), "");
}

TEST(Timestamp, ComesBackAsItWas) {
  Random random(1);
  for (int i = 0; i < 2'000; ++i) {
    const Instant moment{
        Duration{random.integer(-62'135'596'800'000'000, 253'402'300'799'999'999)}};

    EXPECT_EQ(*from_timestamp(*to_timestamp(moment)), moment);
    EXPECT_EQ(*parse_rfc3339(to_rfc3339(moment)), moment);
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

TEST(Rfc3339, IsToldInUtcWithTheDigitsItNeeds) {
  EXPECT_EQ(to_rfc3339(Instant{}), "1970-01-01T00:00:00Z");
  EXPECT_EQ(to_rfc3339(Instant{microseconds(1'500'000)}), "1970-01-01T00:00:01.500Z");
  EXPECT_EQ(to_rfc3339(Instant{microseconds(1)}), "1970-01-01T00:00:00.000001Z");
}

TEST(Rfc3339, IsReadWithOffsetsAndParts) {
  const Instant six = *parse_rfc3339("2026-05-01T18:00:00Z");

  EXPECT_EQ(six, Instant{seconds(1'777'658'400)});
  EXPECT_EQ(*parse_rfc3339("2026-05-01T20:00:00+02:00"), six);
  EXPECT_EQ(*parse_rfc3339("2026-05-01T12:30:00-05:30"), six);
  EXPECT_EQ(*parse_rfc3339("2026-05-01T18:00:00.0000019Z"), six + microseconds(1));
}

TEST(Rfc3339, IsRefusedWithAnExample) {
  using namespace std::string_view_literals;
  for (const std::string_view text :
       {""sv, "18:00"sv, "2026-05-01"sv, "2026-05-01T18:00:00"sv, "2026-02-30T18:00:00Z"sv,
        "2026-05-01T25:00:00Z"sv, "2026-05-01T18:00:00Zz"sv, "2026-05-01T18:00:00Z\0z"sv,
        "2026-05-01T18:00:00.Z"sv, "99999-05-01T18:00:00Z"sv}) {
    const auto moment = parse_rfc3339(text);

    ASSERT_FALSE(moment.ok()) << text;
    EXPECT_THAT(moment.error().message, HasSubstr("expected one like 2026-05-01T18:00:00Z"));
  }
}

}  // namespace
}  // namespace rubato
