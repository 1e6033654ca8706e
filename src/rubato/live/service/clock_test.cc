#include "rubato/live/service/clock.h"

#include <cstdio>
#include <fstream>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/base/random.h"

namespace rubato {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::seconds;

/// Time that stands still unless told otherwise.
struct PretendedTime {
  Instant system{seconds(1'000)};
  Duration elapsed{seconds(50)};
  std::string boot = "first";

  [[nodiscard]] TimeSources sources() {
    return {.system = [this] { return system; },
            .elapsed = [this] { return elapsed; },
            .boot = [this] { return boot; }};
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
  time.system = clock.now() + std::chrono::milliseconds(900);
  EXPECT_EQ(clock.system_ahead(), Duration{}) << "no two clocks are quite alike";
}

TEST(ServiceClock, GoesOnFromAnAnchorOfTheSameBoot) {
  PretendedTime time;
  const ServiceClock before(Instant{}, time.sources());
  const ClockAnchor anchor = before.anchor();
  time.elapsed += seconds(100);
  time.system += hours(5);

  EXPECT_EQ(ServiceClock(Instant{}, time.sources(), anchor).now(), before.now());
  EXPECT_EQ(ServiceClock(Instant{}, time.sources(), anchor).system_ahead(),
            hours(5) - seconds(100));
  EXPECT_EQ(ServiceClock(Instant{hours(3)}, time.sources(), anchor).now(), Instant{hours(3)})
      << "the journal is not passed by";
  time.boot = "second";
  EXPECT_EQ(ServiceClock(Instant{}, time.sources(), anchor).now(), time.system);
}

TEST(ServiceClock, AnAnchorComesBackFromItsFile) {
  const std::string path = testing::TempDir() + "rubato-clock-" + std::to_string(::getpid());
  const ClockAnchor anchor{.boot = "a-b", .elapsed = seconds(7), .at = Instant{hours(9)}};
  EXPECT_EQ(read_anchor(path), std::nullopt);
  ASSERT_TRUE(write_anchor(path, anchor).ok());
  EXPECT_EQ(read_anchor(path), anchor);
  std::ofstream(path) << "a-b 7";
  EXPECT_EQ(read_anchor(path), std::nullopt) << "cut off";
  std::remove(path.c_str());
  EXPECT_FALSE(write_anchor(path + "/none/clock", anchor).ok());
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

}  // namespace
}  // namespace rubato
