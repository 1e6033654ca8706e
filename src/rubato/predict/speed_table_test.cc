#include "rubato/predict/speed_table.h"

#include <gtest/gtest.h>

namespace rubato {
namespace {

constexpr std::string_view kHeader = "gpu_type,model,global_batch,gpus,iters_per_s\n";

std::string error_of(std::string_view text) {
  const auto rows = parse_speeds(text, "speeds.csv");
  return rows.ok() ? "no error" : rows.error().message;
}

std::string row_error(std::string_view row) {
  return error_of(std::string(kHeader) + std::string(row));
}

TEST(SpeedTable, ReadsRows) {
  const auto rows = parse_speeds(
      std::string(kHeader) + "A100,bert,64,8,3.5\r\n\n T4 , gpt2 , 128 , 1 , 0.25", "f");

  ASSERT_TRUE(rows.ok()) << rows.error().message;
  ASSERT_EQ(rows->size(), 2U);
  EXPECT_EQ((*rows)[0].gpu_type, "A100");
  EXPECT_EQ((*rows)[0].model, "bert");
  EXPECT_EQ((*rows)[0].batch, 64);
  EXPECT_EQ((*rows)[0].gpus, 8);
  EXPECT_EQ((*rows)[0].speed, 3.5);
  EXPECT_FALSE((*rows)[0].span.has_value());
  EXPECT_EQ((*rows)[1].model, "gpt2");
}

TEST(SpeedTable, TakesColumnsInAnyOrderAndSpansIfGiven) {
  const auto rows = parse_speeds(
      "span,iters_per_s,gpus,global_batch,model,gpu_type\nrack,2,16,64,bert,A100\n,1,8,64,bert,"
      "A100",
      "f");

  ASSERT_TRUE(rows.ok()) << rows.error().message;
  EXPECT_EQ((*rows)[0].span, Locality::Rack);
  EXPECT_EQ((*rows)[0].gpus, 16);
  EXPECT_FALSE((*rows)[1].span.has_value());
}

TEST(SpeedTable, NamesTheColumnThatIsUnknownOrMissing) {
  EXPECT_EQ(error_of("gpu_type,modell,global_batch,gpus,iters_per_s"),
            "speeds.csv:1: unknown column 'modell'; did you mean 'model'?");
  EXPECT_EQ(error_of("gpu_type,model,gpus,iters_per_s"),
            "speeds.csv:1: column 'global_batch' is missing");
  EXPECT_EQ(error_of(""), "speeds.csv: empty; expected a header line");
}

TEST(SpeedTable, NamesTheLineAndFieldThatIsWrong) {
  EXPECT_EQ(row_error("A100,bert,64,8"), "speeds.csv:2: 4 columns found, 5 expected");
  EXPECT_EQ(row_error("A100,bert,0,8,1"),
            "speeds.csv:2: global_batch: '0' is not a positive whole number");
  EXPECT_EQ(row_error("A100,bert,64,8.5,1"),
            "speeds.csv:2: gpus: '8.5' is not a positive whole number");
  EXPECT_EQ(row_error("A100,bert,64,1000001,1"),
            "speeds.csv:2: gpus: '1000001' is not a positive whole number");
  EXPECT_EQ(row_error("A100,bert,64,8,fast"),
            "speeds.csv:2: iters_per_s: 'fast' is not a positive number");
  EXPECT_EQ(row_error("A100,bert,64,8,nan"),
            "speeds.csv:2: iters_per_s: 'nan' is not a positive number");
  EXPECT_EQ(row_error("A100,bert,64,8,-1"),
            "speeds.csv:2: iters_per_s: '-1' is not a positive number");
  EXPECT_EQ(row_error("A100,bert,64,8,1\n\nA100,bert,64,x,1"),
            "speeds.csv:4: gpus: 'x' is not a positive whole number");
}

TEST(SpeedTable, NamesASpanThatIsUnknown) {
  EXPECT_EQ(error_of("gpu_type,model,global_batch,gpus,iters_per_s,span\nA100,bert,64,8,1,far"),
            "speeds.csv:2: span: 'far' is none of node, rack, across");
}

TEST(SampleSpeeds, RiseToAPeakForEveryKind) {
  for (const SpeedRow& row : sample_speeds()) {
    EXPECT_EQ(row.gpu_type, "sample");
    EXPECT_GT(row.speed, 0) << row.model << " on " << row.gpus;
  }
  EXPECT_EQ(sample_speeds().size(), 6U * 7U);
}

}  // namespace
}  // namespace rubato
