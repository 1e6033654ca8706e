#include <array>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "rubato/predict/measured_profile.h"

namespace rubato {
namespace {

constexpr std::string_view kPlacements = "placement,local_bsz,step_time,sync_time\n";
constexpr std::string_view kScalability = "num_nodes,num_replicas,local_bsz,step_time,sync_time\n";

std::string with(std::string_view header, std::string_view rows) {
  return std::string(header) + std::string(rows);
}

/// The speed at a count and span; nothing if there is no such row.
std::optional<double> speed(const MeasuredProfile& profile, int batch, int gpus, Span span) {
  for (const SpeedRow& row : profile.speed_rows("net", batch)) {
    if (row.gpus == gpus && row.span == span) {
      return row.speed;
    }
  }
  return std::nullopt;
}

/// One GPU: 1 s for 10 samples, 3 s for 20, of which half a second is sync.
MeasuredProfile one_gpu() {
  return MeasuredProfile(std::array{
      StepTime{.nodes = 1, .gpus = 1, .local_batch = 10, .step_seconds = 1, .sync_seconds = 0.5},
      StepTime{.nodes = 1, .gpus = 1, .local_batch = 20, .step_seconds = 3, .sync_seconds = 0.5}});
}

TEST(ParsePlacements, ReadsNodesAndGpusFromTheDigits) {
  const auto times = parse_placements(with(kPlacements, "1,4,0.5,0\n24,8,1.5,0.25\r\n\n"), "p.csv");

  ASSERT_TRUE(times.ok());
  ASSERT_EQ(times->size(), 2U);
  EXPECT_EQ((*times)[0].nodes, 1);
  EXPECT_EQ((*times)[0].gpus, 1);
  EXPECT_EQ((*times)[1].nodes, 2);
  EXPECT_EQ((*times)[1].gpus, 6);
  EXPECT_EQ((*times)[1].local_batch, 8);
  EXPECT_EQ((*times)[1].step_seconds, 1.5);
  EXPECT_EQ((*times)[1].sync_seconds, 0.25);
}

TEST(ParsePlacements, FindsColumnsByNameAndPassesOverOthers) {
  const auto times =
      parse_placements("sync_time,host,step_time,local_bsz,placement\n0.25,a,1.5,8,24\n", "p.csv");

  ASSERT_TRUE(times.ok());
  EXPECT_EQ(times->front().gpus, 6);
  EXPECT_EQ(times->front().step_seconds, 1.5);
}

TEST(ParsePlacements, NamesFileLineAndFieldOfAMalformedRow) {
  const auto message = [](std::string_view rows) {
    return parse_placements(with(kPlacements, rows), "p.csv").error().message;
  };

  EXPECT_EQ(message("1,4,1,0\n104,4,1,0\n"),
            "p.csv:3: placement: '104' is not the GPUs of each node as digits from 1 to 9");
  EXPECT_EQ(message(",4,1,0\n"),
            "p.csv:2: placement: '' is not the GPUs of each node as digits from 1 to 9");
  EXPECT_EQ(message("1,0,1,0\n"), "p.csv:2: local_bsz: '0' is not a positive whole number");
  EXPECT_EQ(message("1,4,0,0\n"), "p.csv:2: step_time: '0' is not a positive number of seconds");
  EXPECT_EQ(message("1,4,nan,0\n"),
            "p.csv:2: step_time: 'nan' is not a positive number of seconds");
  EXPECT_EQ(message("1,4,1,1.5\n"),
            "p.csv:2: sync_time: '1.5' is not a number from 0 to step_time");
  EXPECT_EQ(message("1,4,1\n"), "p.csv:2: 3 columns found, 4 expected");
}

TEST(ParsePlacements, NamesAMissingColumnAndWhatMayBeMeant) {
  EXPECT_EQ(parse_placements("placement,local_bs,step_time,sync_time\n", "p.csv").error().message,
            "p.csv:1: column 'local_bsz' is missing; is it 'local_bs'?");
  EXPECT_EQ(parse_placements(" \n", "p.csv").error().message,
            "p.csv: empty; expected a header line");
}

TEST(ParseScalability, ReadsARowAndRefusesFewerGpusThanNodes) {
  const auto times = parse_scalability(with(kScalability, "6,20,4,1.5,1\n"), "s.csv");
  const auto wrong = parse_scalability(with(kScalability, "6,5,4,1.5,1\n"), "s.csv");

  ASSERT_TRUE(times.ok());
  EXPECT_EQ(times->front().nodes, 6);
  EXPECT_EQ(times->front().gpus, 20);
  EXPECT_EQ(wrong.error().message,
            "s.csv:2: num_replicas: '5' is not a whole number of at least num_nodes");
  EXPECT_EQ(parse_scalability(with(kScalability, "x,5,4,1,1\n"), "s.csv").error().message,
            "s.csv:2: num_nodes: 'x' is not a positive whole number");
}

TEST(ParseTrainingSteps, TakesTheIterationOfTheLastRow) {
  const auto steps = parse_training_steps("progress,iteration,metric\n3,2,0.1\n9,5,0.2\n", "v.csv");

  ASSERT_TRUE(steps.ok());
  EXPECT_EQ(*steps, 5);
}

TEST(ParseTrainingSteps, RefusesACurveThatRunsBackwardsOrIsEmpty) {
  const auto message = [](std::string_view text) {
    return parse_training_steps(text, "v.csv").error().message;
  };

  EXPECT_EQ(message("progress,iteration\n1,5\n2,4\n"),
            "v.csv:3: iteration: '4' is not at least 5 as in the row before");
  EXPECT_EQ(message("progress,iteration\n1,2.5\n"),
            "v.csv:2: iteration: '2.5' is not a positive whole number");
  EXPECT_EQ(message("progress,iteration\n"), "v.csv: no rows; expected one per epoch");
}

TEST(CurveBatch, IsTheBatchItselfElseTheNearestAboveElseTheLargest) {
  constexpr std::array kMeasured = {16, 64, 256};

  EXPECT_EQ(curve_batch(kMeasured, 64), 64);
  EXPECT_EQ(curve_batch(kMeasured, 65), 256);
  EXPECT_EQ(curve_batch(kMeasured, 1), 16);
  EXPECT_EQ(curve_batch(kMeasured, 1000), 256);
}

TEST(StepsAtBatch, NeverGivesTooFew) {
  EXPECT_EQ(steps_at_batch(100, 64, 64), 100);
  EXPECT_EQ(steps_at_batch(100, 64, 48), 134);   // As many samples: 133.3 steps.
  EXPECT_EQ(steps_at_batch(100, 64, 128), 100);  // As many steps.
}

TEST(MeasuredProfile, InterpolatesBetweenMeasuredLocalBatches) {
  EXPECT_DOUBLE_EQ(*speed(one_gpu(), 10, 1, Span::Node), 1.0);
  EXPECT_DOUBLE_EQ(*speed(one_gpu(), 15, 1, Span::Node), 1 / 2.0);
  EXPECT_DOUBLE_EQ(*speed(one_gpu(), 20, 1, Span::Node), 1 / 3.0);
}

TEST(MeasuredProfile, LeavesOutALocalBatchBelowTheSmallestMeasured) {
  EXPECT_TRUE(one_gpu().speed_rows("net", 9).empty());
  EXPECT_EQ(one_gpu().smallest_local_batch(), 10);
}

TEST(MeasuredProfile, CutsALargerLocalBatchIntoEqualPassesWithOneSync) {
  EXPECT_DOUBLE_EQ(*speed(one_gpu(), 60, 1, Span::Node), 1 / (3 * 2.5 + 0.5));
  EXPECT_DOUBLE_EQ(*speed(one_gpu(), 30, 1, Span::Node), 1 / (2 * 1.5 + 0.5));
}

TEST(MeasuredProfile, TakesTheFullestWorkerOfAnUnevenSplit) {
  const MeasuredProfile profile(
      std::array{StepTime{.nodes = 1, .gpus = 2, .local_batch = 10, .step_seconds = 1},
                 StepTime{.nodes = 1, .gpus = 2, .local_batch = 20, .step_seconds = 2}});

  EXPECT_DOUBLE_EQ(*speed(profile, 25, 2, Span::Node), 1 / 1.3);
  EXPECT_FALSE(speed(profile, 19, 2, Span::Node));
}

TEST(MeasuredProfile, KeepsOneNodeApartFromSeveralAndAveragesTheClosestOfThese) {
  const MeasuredProfile profile(
      std::array{StepTime{.nodes = 1, .gpus = 4, .local_batch = 8, .step_seconds = 1},
                 StepTime{.nodes = 2, .gpus = 4, .local_batch = 8, .step_seconds = 3},
                 StepTime{.nodes = 2, .gpus = 4, .local_batch = 8, .step_seconds = 5},
                 StepTime{.nodes = 4, .gpus = 4, .local_batch = 8, .step_seconds = 9}});

  EXPECT_EQ(profile.speed_rows("net", 32).size(), 3U);
  EXPECT_DOUBLE_EQ(*speed(profile, 32, 4, Span::Node), 1.0);
  EXPECT_DOUBLE_EQ(*speed(profile, 32, 4, Span::Rack), 1 / 4.0);
  EXPECT_DOUBLE_EQ(*speed(profile, 32, 4, Span::Across), 1 / 4.0);
}

TEST(MeasuredProfile, GivesANodeLargerThanAnyMeasuredTheSpeedOfSeveral) {
  const MeasuredProfile profile(
      std::array{StepTime{.nodes = 2, .gpus = 8, .local_batch = 8, .step_seconds = 4}});

  EXPECT_DOUBLE_EQ(*speed(profile, 64, 8, Span::Node), 1 / 4.0);
}

TEST(MeasuredProfile, GivesRowsThatTheSpeedBookCallsMeasured) {
  const auto topology = Topology::parse("2x4");
  SpeedBook book(one_gpu().speed_rows("net", 10), *topology);

  const SpeedId id = book.resolve(Job{.model = "net", .batch = 10});

  EXPECT_EQ(book.provenance(id), Provenance::Measured);
  EXPECT_DOUBLE_EQ(book.requested_speed(id, 1), 1.0);
}

}  // namespace
}  // namespace rubato
