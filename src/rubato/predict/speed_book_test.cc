#include "rubato/predict/speed_book.h"

#include <limits>
#include <utility>

#include <gtest/gtest.h>

namespace rubato {
namespace {

constexpr PoolId kFirst{0};
constexpr PoolId kSecond{1};

Topology cluster(std::string_view text) { return Topology::parse(text).value(); }

SpeedRow row(std::string_view type, int gpus, double speed, std::optional<Locality> span = {}) {
  return {.gpu_type = std::string(type),
          .model = "bert",
          .batch = 64,
          .gpus = gpus,
          .speed = speed,
          .span = span};
}

Job bert() { return {.model = "bert", .batch = 64}; }

std::vector<int> counts(const ScalingCurve& curve) {
  std::vector<int> counts;
  for (const ScalingPoint& point : curve.points()) {
    counts.push_back(point.workers);
  }
  return counts;
}

TEST(SpeedBook, GivesTheMeasuredPointsThatFitThePool) {
  SpeedBook book({row("A", 1, 1), row("A", 2, 1.9), row("A", 4, 3.5), row("A", 8, 6)},
                 cluster("1x4:A"));

  const SpeedId speed = book.resolve(bert());

  EXPECT_EQ(counts(book.curve(speed, kFirst)), (std::vector<int>{1, 2, 4}));
  EXPECT_EQ(book.speed(speed, kFirst, 2, Locality::Node), 1.9);
  EXPECT_EQ(book.provenance(speed), Provenance::Measured);
  EXPECT_FALSE(book.depends_on_span(speed, kFirst));
}

TEST(SpeedBook, ResolvesEqualKindsToOneEntry) {
  SpeedBook book({row("A", 1, 1)}, cluster("1x4:A"));
  Job wide = bert();
  wide.workers.min = 2;

  const SpeedId first = book.resolve(bert());
  const SpeedId again = book.resolve(bert());
  const SpeedId other = book.resolve(wide);

  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);
  EXPECT_EQ(book.find(wide), other);
  EXPECT_EQ(book.kinds(), 2U);
}

TEST(SpeedBook, KeepsToTheCountsTheJobAccepts) {
  SpeedBook book({row("A", 1, 1), row("A", 2, 2), row("A", 4, 4)}, cluster("1x8:A"));
  Job bounded = bert();
  bounded.workers = {.min = 2, .max = 3};
  Job listed = bert();
  listed.workers.listed = {3, 4};

  EXPECT_EQ(counts(book.curve(book.resolve(bounded), kFirst)), (std::vector<int>{2}));
  EXPECT_EQ(counts(book.curve(book.resolve(listed), kFirst)), (std::vector<int>{3, 4}));
  EXPECT_EQ(book.curve(book.resolve(listed), kFirst).speed(3), 3);  // The chord from 2 to 4.
}

Job declared(std::vector<ScalingPoint> speeds) {
  return {.model = "own", .batch = 8, .speeds = std::move(speeds)};
}

TEST(SpeedBook, TakesAJobsOwnSpeedsWhereNobodyMeasuredItsKind) {
  SpeedBook book({row("A", 1, 1)}, cluster("2x4:A+1x2:B"));
  Job listed = declared({{1, 10}, {2, 19}, {4, 35}});
  listed.workers = {.max = 4, .listed = {2, 3, 8}};

  const SpeedId plain = book.resolve(declared({{1, 10}, {2, 19}, {8, 60}}));
  const SpeedId chosen = book.resolve(listed);

  EXPECT_EQ(counts(book.curve(plain, kFirst)), (std::vector<int>{1, 2, 8}));
  EXPECT_EQ(counts(book.curve(plain, kSecond)), (std::vector<int>{1, 2}));
  EXPECT_EQ(book.speed(plain, kFirst, 8, Locality::Rack), 60);
  EXPECT_EQ(book.speed(plain, kFirst, 2, Locality::Across), 19);
  EXPECT_FALSE(book.depends_on_span(plain, kFirst));
  EXPECT_EQ(book.provenance(plain), Provenance::Measured);
  EXPECT_EQ(counts(book.curve(chosen, kFirst)), (std::vector<int>{2, 3}));
  EXPECT_EQ(book.curve(chosen, kFirst).speed(3), 27);  // The chord from 2 to 4.
}

TEST(SpeedBook, PrefersMeasurementsToAJobsOwnSpeedsPoolByPool) {
  SpeedBook book({row("A", 1, 1), row("A", 2, 2)}, cluster("1x4:A+1x4:B"));
  Job job = bert();
  job.speeds = {{1, 10}, {4, 30}};

  const SpeedId speed = book.resolve(job);

  EXPECT_EQ(counts(book.curve(speed, kFirst)), (std::vector<int>{1, 2}));
  EXPECT_EQ(counts(book.curve(speed, kSecond)), (std::vector<int>{1, 4}));
}

TEST(SpeedBook, TellsJobsApartByTheirOwnSpeeds) {
  SpeedBook book({}, cluster("1x4"));

  const SpeedId slow = book.resolve(declared({{1, 10}}));
  const SpeedId fast = book.resolve(declared({{1, 20}}));
  const SpeedId none = book.resolve(declared({}));

  EXPECT_EQ(book.resolve(declared({{1, 10}})), slow);
  EXPECT_EQ(book.kinds(), 3U);
  EXPECT_EQ(book.curve(slow, kFirst).peak().speed, 10);
  EXPECT_EQ(book.curve(fast, kFirst).peak().speed, 20);
  EXPECT_EQ(book.provenance(none), Provenance::Assumed);
}

TEST(SpeedBook, LeavesOutOwnSpeedsThatCannotBe) {
  SpeedBook book({}, cluster("1x4"));
  const double nothing = std::numeric_limits<double>::quiet_NaN();

  const SpeedId some = book.resolve(declared({{-1, 5}, {1, 10}, {2, nothing}, {4, 0}}));
  const SpeedId none = book.resolve(declared({{2, nothing}}));

  EXPECT_EQ(book.resolve(declared({{2, nothing}})), none);
  EXPECT_EQ(counts(book.curve(some, kFirst)), (std::vector<int>{1}));
  EXPECT_EQ(book.provenance(none), Provenance::Assumed);
}

TEST(SpeedBook, HasNoCurveForAPoolThatWasNotMeasuredOrIsNotPermitted) {
  SpeedBook book({row("A", 1, 1), row("B", 1, 2)}, cluster("1x4:A+1x4:B+1x4:C"));
  Job only_b = bert();
  only_b.gpu_type = "B";

  const SpeedId any = book.resolve(bert());
  const SpeedId restricted = book.resolve(only_b);

  EXPECT_FALSE(book.curve(any, kFirst).empty());
  EXPECT_TRUE(book.curve(any, PoolId{2}).empty());
  EXPECT_TRUE(book.curve(restricted, kFirst).empty());
  EXPECT_FALSE(book.curve(restricted, kSecond).empty());
}

TEST(SpeedBook, AClusterOfUnnamedTypeTakesTheFirstTypeMeasured) {
  SpeedBook book({row("B", 1, 2), row("A", 1, 1)}, cluster("1x4"));

  EXPECT_EQ(book.curve(book.resolve(bert()), kFirst).speed(1), 1);
}

TEST(SpeedBook, AssumesACautiousCurveForAKindNobodyMeasured) {
  SpeedBook book({row("A", 1, 1)}, cluster("1x4:A"));
  const Job unknown{.model = "mystery", .batch = 1};

  const SpeedId speed = book.resolve(unknown);

  EXPECT_EQ(book.provenance(speed), Provenance::Assumed);
  EXPECT_EQ(counts(book.curve(speed, kFirst)), (std::vector<int>{1, 2, 4}));
  EXPECT_DOUBLE_EQ(book.curve(speed, kFirst).speed(4), 4 / 1.06);
  EXPECT_EQ(book.requested_speed(speed, 1), 1);
}

TEST(SpeedBook, PlansWithTheNarrowestSpanThatHoldsAJob) {
  SpeedBook book({row("A", 1, 1), row("A", 4, 4, Locality::Node), row("A", 4, 2, Locality::Rack),
                  row("A", 8, 5, Locality::Rack)},
                 cluster("2x4:A"));

  const SpeedId speed = book.resolve(bert());

  EXPECT_TRUE(book.depends_on_span(speed, kFirst));
  EXPECT_EQ(book.curve(speed, kFirst).speed(4), 4);
  EXPECT_EQ(book.curve(speed, kFirst).speed(8), 5);
  EXPECT_EQ(book.speed(speed, kFirst, 4, Locality::Node), 4);
  EXPECT_EQ(book.speed(speed, kFirst, 4, Locality::Rack), 2);
}

TEST(SpeedBook, OneWorkerIsAsFastAtEverySpan) {
  SpeedBook book({row("A", 1, 1, Locality::Node), row("A", 2, 2, Locality::Node),
                  row("A", 2, 1.5, Locality::Rack)},
                 cluster("2x1:A"));

  const SpeedId speed = book.resolve(bert());

  EXPECT_EQ(book.speed(speed, kFirst, 1, Locality::Rack), 1);
  EXPECT_EQ(book.speed(speed, kFirst, 2, Locality::Rack), 1.5);
}

TEST(SpeedBook, DescribesWhatItKnows) {
  SpeedBook book({row("A", 1, 1), row("A", 2, 2)}, cluster("1x4:A+1x2:B"));

  EXPECT_EQ(book.describe(book.resolve(bert())),
            "bert/64: measured at 1 2 GPUs (A); at no GPUs (B)");
}

}  // namespace
}  // namespace rubato
