#include "rubato/predict/application_profile.h"

#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include <gtest/gtest.h>

#include "rubato/base/random.h"
#include "rubato/predict/speed_book.h"

namespace rubato {
namespace {

StepTime time(NodePattern pattern, int local_batch, double step, double exchange = 0) {
  return {.nodes = static_cast<int>(pattern.size()),
          .gpus = std::accumulate(pattern.begin(), pattern.end(), 0),
          .pattern = pattern,
          .local_batch = local_batch,
          .step_seconds = step,
          .sync_seconds = exchange};
}

StepTime counted(int nodes, int gpus, int local_batch, double step) {
  return {.nodes = nodes, .gpus = gpus, .local_batch = local_batch, .step_seconds = step};
}

Epoch epoch(double progress, double steps, double squared, double variance) {
  return {
      .progress = progress, .steps = steps, .noise = {.squared = squared, .variance = variance}};
}

/// One GPU: 1 s for 10 samples, 3 s for 20, of which half a second is exchange.
std::vector<StepTime> one_gpu() { return {time({1}, 10, 1, 0.5), time({1}, 20, 3, 0.5)}; }

ApplicationProfile without_epochs(std::vector<StepTime> times) {
  return ApplicationProfile(times, {});
}

/// Batches 10 and 40: two epochs, the second noisier. At 40 a step is worth (V + 1) / (V / 4 + 1)
/// steps: V is 0 and 4 in the epochs of 10, and 4 and 12 in those of 40.
ApplicationProfile two_epochs() {
  return ApplicationProfile(one_gpu(), {{10, {epoch(100, 100, 1, 0), epoch(300, 300, 1, 4)}},
                                        {40, {epoch(120, 48, 1, 4), epoch(290, 100, 1, 12)}}});
}

/// The speed at a count and span; nothing if there is no such row.
std::optional<double> speed(const ApplicationProfile& profile, int batch, int gpus, Locality span) {
  for (const SpeedRow& row : profile.speed_rows("net", batch)) {
    if (row.gpus == gpus && row.span == span) {
      return row.speed;
    }
  }
  return std::nullopt;
}

TEST(ApplicationProfile, FindsAPlacementWhereverItsNodesAreCountedFrom) {
  const auto profile =
      without_epochs({time({1, 2, 4}, 8, 5), time({1, 4, 2}, 8, 7), time({4, 4, 1}, 8, 9)});

  for (const NodePattern& nodes : {NodePattern{1, 2, 4}, {2, 4, 1}, {4, 1, 2}}) {
    EXPECT_EQ(profile.pass(nodes, 8).step, 5);
  }
  for (const NodePattern& nodes : {NodePattern{1, 4, 2}, {4, 2, 1}, {2, 1, 4}}) {
    EXPECT_EQ(profile.pass(nodes, 8).step, 7);
  }
  EXPECT_EQ(profile.pass({1, 4, 4}, 8).step, 9);
}

TEST(ApplicationProfile, InterpolatesBetweenLocalBatchesOfAPlacement) {
  const auto profile = without_epochs({time({2}, 10, 1, 0.5), time({2}, 20, 3, 1)});

  EXPECT_DOUBLE_EQ(profile.pass({2}, 15).step, 2);
  EXPECT_DOUBLE_EQ(profile.pass({2}, 15).exchange, 0.75);
  EXPECT_DOUBLE_EQ(profile.pass({2}, 5).step, 1);
  EXPECT_DOUBLE_EQ(profile.pass({2}, 100).step, 3);
}

TEST(ApplicationProfile, GivesAnUnmeasuredPlacementTheMeanOfItsKind) {
  // Four GPUs on two nodes were measured as 1+3; 2+2 was not, but twice by counts alone.
  const auto profile = without_epochs(
      {time({1, 3}, 8, 4), counted(2, 4, 8, 6), counted(2, 4, 8, 8), counted(2, 8, 8, 100)});

  EXPECT_DOUBLE_EQ(profile.pass({1, 3}, 8).step, 4);
  EXPECT_NEAR(profile.pass({2, 2}, 8).step, 6, 1e-9);
}

TEST(ApplicationProfile, InterpolatesBetweenCountsAndTakesTheNearestOutside) {
  const auto profile = without_epochs({counted(1, 4, 8, 2), counted(3, 8, 8, 6)});

  EXPECT_NEAR(profile.pass({3, 3}, 8).step, 4, 1e-9);  // Half way.
  EXPECT_NEAR(profile.pass({4, 4, 4, 4}, 8).step, 6, 1e-9);
  EXPECT_NEAR(profile.pass({1}, 8).step, 2, 1e-9);
}

TEST(ApplicationProfile, GivesLinearTimesOfCountsExactly) {
  Random random(1);
  const auto linear = [](int nodes, int gpus, int local_batch) {
    return 1 + 0.5 * nodes + 0.1 * gpus + 0.02 * local_batch;
  };
  std::vector<StepTime> times;
  for (const int nodes : {2, 5, 8}) {
    for (const int each : {1, 4}) {
      for (const int local_batch : {8, 32, 64}) {
        times.push_back(
            counted(nodes, nodes * each, local_batch, linear(nodes, nodes * each, local_batch)));
      }
    }
  }
  const auto profile = without_epochs(times);
  for (int i = 0; i < 200; ++i) {
    NodePattern nodes;
    for (std::int64_t k = random.integer(2, 8); k > 0; --k) {
      nodes.push_back(static_cast<int>(random.integer(1, 4)));
    }
    const int workers = std::accumulate(nodes.begin(), nodes.end(), 0);
    const int local_batch = static_cast<int>(random.integer(8, 64));

    ASSERT_NEAR(profile.pass(nodes, local_batch).step,
                linear(static_cast<int>(nodes.size()), workers, local_batch), 1e-7);
    ASSERT_EQ(profile.pass(nodes, local_batch).step, profile.pass(nodes, local_batch).step);
  }
}

TEST(ApplicationProfile, ExchangesOnceHoweverManyPassesAStepHas) {
  const auto profile = without_epochs(one_gpu());

  EXPECT_DOUBLE_EQ(profile.step_seconds({1}, {.local = 10}), 1);
  EXPECT_DOUBLE_EQ(profile.step_seconds({1}, {.local = 10, .accumulation = 2}), 1 + 2 * 0.5);
}

TEST(ApplicationProfile, KnowsTheLimitsOfWhatWasMeasured) {
  EXPECT_EQ(two_epochs().limits(),
            (BatchLimits{.initial = 10, .max = 40, .local_min = 10, .local_max = 20}));
  EXPECT_TRUE(two_epochs().limits().can_adapt());
  EXPECT_EQ(without_epochs(one_gpu()).limits(), (BatchLimits{.local_min = 10, .local_max = 20}));
  EXPECT_FALSE(without_epochs(one_gpu()).limits().can_adapt());
}

TEST(ApplicationProfile, TakesNoMoreSamplesAtATimeThanItIsTold) {
  const ApplicationProfile capped(one_gpu(), {}, /*local_max=*/15);
  const ApplicationProfile wide(one_gpu(), {}, /*local_max=*/99);
  const ApplicationProfile narrow(one_gpu(), {}, /*local_max=*/3);

  EXPECT_EQ(capped.limits().local_max, 15);
  EXPECT_EQ(capped.split(30, 1), (BatchSplit{.local = 15, .accumulation = 1}));
  EXPECT_EQ(wide.limits().local_max, 20);
  EXPECT_EQ(narrow.limits().local_max, 10);
}

TEST(ApplicationProfile, AnEpochEndsWithTheLeastProgressOfAnyBatch) {
  const auto profile = two_epochs();

  EXPECT_EQ(profile.epochs(), 2);
  EXPECT_DOUBLE_EQ(profile.steps(10, 0), 0);
  EXPECT_DOUBLE_EQ(profile.steps(10, 1), 100);
  EXPECT_DOUBLE_EQ(profile.steps(10), 290);
}

TEST(ApplicationProfile, AStepIsWorthWhatTheNoiseOfItsEpochSays) {
  const auto profile = two_epochs();

  EXPECT_DOUBLE_EQ(profile.gain(10, 0), 1);
  EXPECT_DOUBLE_EQ(profile.gain(40, 0), 5.0 / 2);
  EXPECT_DOUBLE_EQ(profile.gain(40, 1), 13.0 / 4);
  EXPECT_DOUBLE_EQ(profile.steps(40, 1), 100 / 2.5);
  EXPECT_DOUBLE_EQ(profile.steps(40), 100 / 2.5 + 190 / 3.25);
}

TEST(ApplicationProfile, NoiseBetweenBatchesIsInterpolated) {
  const auto profile = two_epochs();

  EXPECT_DOUBLE_EQ(profile.noise(25, 0).variance, 2);
  EXPECT_DOUBLE_EQ(profile.noise(25, 1).variance, 8);
  EXPECT_DOUBLE_EQ(profile.noise(80, 1).variance, 12);
  EXPECT_DOUBLE_EQ(profile.noise(5, 1).variance, 4);
  EXPECT_DOUBLE_EQ(profile.noise(10, 7).variance, 4);  // After the last epoch as in it.
  EXPECT_DOUBLE_EQ(profile.gain(25, 0), 3 / (2 / 2.5 + 1));
  EXPECT_DOUBLE_EQ(profile.recorded_steps(25, 0), 74);
  EXPECT_DOUBLE_EQ(profile.recorded_steps(40, 1), 100);
}

TEST(ApplicationProfile, StepsAddUpToTheProgressOfEachEpoch) {
  Random random(2);
  for (int i = 0; i < 200; ++i) {
    std::map<int, std::vector<Epoch>> epochs;
    const auto count = static_cast<std::size_t>(random.integer(1, 8));
    for (const int batch : {16, 64, 256}) {
      double progress = 0;
      for (std::size_t k = 0; k < count; ++k) {
        progress += random.uniform(10, 20);
        epochs[batch].push_back(epoch(progress, 1, random.uniform(0.1, 2), random.uniform(0, 50)));
      }
    }
    const ApplicationProfile profile(one_gpu(), epochs);
    const int batch = static_cast<int>(random.integer(8, 400));

    double gained = 0;
    for (int k = 0; k < profile.epochs(); ++k) {
      const double steps = profile.steps(batch, k + 1) - profile.steps(batch, k);
      gained += steps * profile.gain(batch, k);
      const double least = std::min({epochs[16][static_cast<std::size_t>(k)].progress,
                                     epochs[64][static_cast<std::size_t>(k)].progress,
                                     epochs[256][static_cast<std::size_t>(k)].progress});
      ASSERT_NEAR(gained, least, 1e-9 * least);
      ASSERT_EQ(profile.epoch_at(batch, profile.steps(batch, k)), k);
      ASSERT_EQ(profile.epoch_at(batch, profile.steps(batch, k) + steps / 2), k);
    }
    ASSERT_EQ(profile.epoch_at(batch, 1e9), profile.epochs() - 1);
  }
}

TEST(ApplicationProfile, EndsWithTheShortestRecordedTraining) {
  const ApplicationProfile profile(
      one_gpu(), {{10, {epoch(100, 100, 1, 0), epoch(300, 300, 1, 4), epoch(400, 400, 1, 4)}},
                  {40, {epoch(120, 48, 1, 4), epoch(290, 100, 1, 12)}}});

  EXPECT_EQ(profile.epochs(), 2);
}

TEST(ApplicationProfile, SplitsAnOwnBatchInOnePassUnlessNoiseMustBeSeen) {
  // Without epochs nobody looks for noise; with them one worker beyond the initial batch does.
  EXPECT_EQ(without_epochs(one_gpu()).split(10, 1), (BatchSplit{.local = 10}));
  EXPECT_EQ(without_epochs(one_gpu()).split(20, 1), (BatchSplit{.local = 20}));
  EXPECT_EQ(two_epochs().split(10, 1), (BatchSplit{.local = 10}));
  EXPECT_EQ(two_epochs().split(20, 1), (BatchSplit{.local = 10, .accumulation = 1}));
  EXPECT_EQ(two_epochs().split(80, 2), (BatchSplit{.local = 20, .accumulation = 1}));
}

TEST(SpeedRows, InterpolateBetweenMeasuredLocalBatches) {
  EXPECT_DOUBLE_EQ(*speed(without_epochs(one_gpu()), 10, 1, Locality::Node), 1.0);
  EXPECT_DOUBLE_EQ(*speed(without_epochs(one_gpu()), 15, 1, Locality::Node), 1 / 2.0);
  EXPECT_DOUBLE_EQ(*speed(without_epochs(one_gpu()), 20, 1, Locality::Node), 1 / 3.0);
}

TEST(SpeedRows, LeaveOutALocalBatchBelowTheSmallestMeasured) {
  EXPECT_TRUE(without_epochs(one_gpu()).speed_rows("net", 9).empty());
  EXPECT_EQ(without_epochs(one_gpu()).speed({1}, 9), 0);
  EXPECT_EQ(without_epochs(one_gpu()).speed({}, 10), 0);
}

TEST(SpeedRows, CutALargerLocalBatchIntoEqualPassesWithOneExchange) {
  EXPECT_DOUBLE_EQ(*speed(without_epochs(one_gpu()), 60, 1, Locality::Node), 1 / (3 * 2.5 + 0.5));
  EXPECT_DOUBLE_EQ(*speed(without_epochs(one_gpu()), 30, 1, Locality::Node), 1 / (2 * 1.5 + 0.5));
}

TEST(SpeedRows, TakeTheFullestWorkerOfAnUnevenSplit) {
  const auto profile = without_epochs({time({2}, 10, 1), time({2}, 20, 2)});

  EXPECT_DOUBLE_EQ(*speed(profile, 25, 2, Locality::Node), 1 / 1.3);
  EXPECT_FALSE(speed(profile, 19, 2, Locality::Node));
}

TEST(SpeedRows, KeepOneNodeApartFromTwo) {
  // Four workers close together, and as three and one.
  const auto profile = without_epochs({time({4}, 8, 1), time({3, 1}, 8, 4), time({2, 2}, 8, 9)});

  EXPECT_EQ(profile.speed_rows("net", 32).size(), 3U);
  EXPECT_DOUBLE_EQ(*speed(profile, 32, 4, Locality::Node), 1.0);
  EXPECT_DOUBLE_EQ(*speed(profile, 32, 4, Locality::Rack), 1 / 4.0);
  EXPECT_DOUBLE_EQ(*speed(profile, 32, 4, Locality::Across), 1 / 4.0);
}

TEST(SpeedRows, AreWhatTheSpeedBookCallsMeasured) {
  const auto topology = Topology::parse("2x4");
  SpeedBook book(without_epochs(one_gpu()).speed_rows("net", 10), *topology);

  const SpeedId id = book.resolve(Job{.model = "net", .batch = 10});

  EXPECT_EQ(book.provenance(id), Provenance::Measured);
  EXPECT_DOUBLE_EQ(book.requested_speed(id, 1), 1.0);
}

TEST(SpeedRows, GiveWayToAProfileThatKnowsThePlacement) {
  const auto profile = without_epochs({time({2}, 8, 1), time({1, 1}, 8, 4), time({4}, 4, 1)});
  SpeedBook book(profile.speed_rows("net", 16), *Topology::parse("2x4"));
  book.add("net", "", profile);

  const SpeedId id = book.resolve(Job{.model = "net", .batch = 16});

  EXPECT_NE(book.profile(id, PoolId{0}), nullptr);
  EXPECT_DOUBLE_EQ(book.speed(id, Placement{.ranges = {{0, 2}}}), 1);
  EXPECT_DOUBLE_EQ(book.speed(id, Placement{.ranges = {{3, 2}}}), 1 / 4.0);
}

}  // namespace
}  // namespace rubato
