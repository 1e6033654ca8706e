#include "rubato/predict/profile_rows.h"

#include <string>

#include <gtest/gtest.h>

namespace rubato {
namespace {

constexpr std::string_view kPlacements = "placement,local_bsz,step_time,sync_time\n";
constexpr std::string_view kScalability = "num_nodes,num_replicas,local_bsz,step_time,sync_time\n";
constexpr std::string_view kEpochs = "progress,iteration,grad_sqr,grad_var\n";

std::string with(std::string_view header, std::string_view rows) {
  return std::string(header) + std::string(rows);
}

TEST(ParsePlacements, ReadsNodesAndGpusFromTheDigits) {
  const auto times = parse_placements(with(kPlacements, "1,4,0.5,0\n24,8,1.5,0.25\r\n\n"), "p.csv");

  ASSERT_TRUE(times.ok());
  ASSERT_EQ(times->size(), 2U);
  EXPECT_EQ((*times)[0].nodes, 1);
  EXPECT_EQ((*times)[0].gpus, 1);
  EXPECT_EQ((*times)[1].nodes, 2);
  EXPECT_EQ((*times)[1].gpus, 6);
  EXPECT_EQ((*times)[1].pattern, (NodePattern{2, 4}));
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
  EXPECT_TRUE(times->front().pattern.empty());
  EXPECT_EQ(wrong.error().message,
            "s.csv:2: num_replicas: '5' is not a whole number of at least num_nodes");
  EXPECT_EQ(parse_scalability(with(kScalability, "x,5,4,1,1\n"), "s.csv").error().message,
            "s.csv:2: num_nodes: 'x' is not a positive whole number");
}

TEST(ParseEpochs, ReadsOneForEachRow) {
  const auto epochs = parse_epochs(
      "progress,iteration,metric,grad_sqr,grad_var\n3.5,2,0.1,0.25,8\n9,5,0.2,0,0\n", "v.csv");

  ASSERT_TRUE(epochs.ok()) << epochs.error().message;
  ASSERT_EQ(epochs->size(), 2U);
  EXPECT_EQ((*epochs)[0].progress, 3.5);
  EXPECT_EQ((*epochs)[0].steps, 2);
  EXPECT_EQ((*epochs)[0].noise, (GradientNoise{.squared = 0.25, .variance = 8}));
  EXPECT_EQ((*epochs)[1].progress, 9);
  EXPECT_EQ((*epochs)[1].steps, 5);
}

TEST(ParseEpochs, NamesTheLineAndFieldOfATrainingThatMakesNoSense) {
  const auto message = [](std::string_view rows) {
    return parse_epochs(with(kEpochs, rows), "v.csv").error().message;
  };

  EXPECT_EQ(message("1,5,1,1\n2,4,1,1\n"),
            "v.csv:3: iteration: '4' is not at least 5 as in the row before");
  EXPECT_EQ(message("1,5,1,1\n1,6,1,1\n"),
            "v.csv:3: progress: '1' is not above 1 as in the row before");
  EXPECT_EQ(message("0,5,1,1\n"), "v.csv:2: progress: '0' is not above 0 as in the row before");
  EXPECT_EQ(message("1,2.5,1,1\n"), "v.csv:2: iteration: '2.5' is not a positive whole number");
  EXPECT_EQ(message("x,2,1,1\n"), "v.csv:2: progress: 'x' is not a number from zero up");
  EXPECT_EQ(message("1,2,-1,1\n"), "v.csv:2: grad_sqr: '-1' is not a number from zero up");
  EXPECT_EQ(message("1,2,1,nan\n"), "v.csv:2: grad_var: 'nan' is not a number from zero up");
  EXPECT_EQ(message("1,2,1,inf\n"), "v.csv:2: grad_var: 'inf' is not a number from zero up");
  EXPECT_EQ(message(""), "v.csv: no rows; expected one per epoch");
  EXPECT_EQ(parse_epochs("progress,iteration\n1,1\n", "v.csv").error().message,
            "v.csv:1: column 'grad_sqr' is missing");
}

}  // namespace
}  // namespace rubato
