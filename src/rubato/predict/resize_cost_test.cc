#include "rubato/predict/resize_cost.h"

#include <gtest/gtest.h>

namespace rubato {
namespace {

using std::chrono::seconds;

double physical(std::string_view model, const ShareChange& change) {
  const ResizeCost costs(ResizeCostModel::Physical, 64, seconds{60});
  return to_seconds(costs.physical(Job{.model = std::string(model)}, change));
}

double artifact(int cluster_gpus, int workers, bool known, bool restarts) {
  const ResizeCost costs(ResizeCostModel::Artifact, cluster_gpus, seconds{60});
  return to_seconds(costs.artifact(workers, known, restarts));
}

TEST(ResizeCostPhysical, IsTheMeasuredOneOfTheModel) {
  EXPECT_EQ(physical("resnet50", {.from = 1, .to = 2}), 1.884);
  EXPECT_EQ(physical("resnet50", {.from = 2, .to = 1}), 1.659);
  EXPECT_EQ(physical("resnet50", {.from = 8, .to = 16}), 1.666);
  EXPECT_EQ(physical("resnet50", {.from = 16, .to = 8}), 1.787);
  EXPECT_EQ(physical("resnet50", {.from = 8, .to = 8, .moved = true}), 0.887);
  EXPECT_EQ(physical("vgg16", {.from = 8, .to = 8, .moved = true}), 3.209);
  EXPECT_EQ(physical("gpt2", {.from = 2, .to = 1}), 3.101);
  EXPECT_EQ(physical("bert", {.from = 8, .to = 16}), 4.239);
}

TEST(ResizeCostPhysical, OfAStartIsThatOfGrowing) {
  EXPECT_EQ(physical("inception3", {.from = 0, .to = 8}), 1.819);
  EXPECT_EQ(physical("inception3", {.from = 0, .to = 9}), 1.738);
}

TEST(ResizeCostPhysical, OfAnUnknownModelIsTheDearestMeasured) {
  EXPECT_EQ(physical("mystery", {.from = 1, .to = 2}), 3.904);
  EXPECT_EQ(physical("mystery", {.from = 2, .to = 1}), 3.101);
  EXPECT_EQ(physical("mystery", {.from = 4, .to = 4, .moved = true}), 3.209);
}

TEST(ResizeCostPhysical, OfNoChangeOrAStopIsNothing) {
  EXPECT_EQ(physical("bert", {.from = 4, .to = 4}), 0);
  EXPECT_EQ(physical("bert", {.from = 4, .to = 0}), 0);
}

TEST(ResizeCostPhysical, OfAFlatRestartIsTheSameForEveryChangeOfEveryModel) {
  const ResizeCost costs(ResizeCostModel::Physical, 64, seconds{60}, seconds{30});
  for (const std::string model : {"bert", "resnet50", "mystery"}) {
    const Job job{.model = model};

    EXPECT_EQ(costs.physical(job, {.from = 0, .to = 1}), seconds{30});
    EXPECT_EQ(costs.physical(job, {.from = 1, .to = 2}), seconds{30});
    EXPECT_EQ(costs.physical(job, {.from = 16, .to = 8}), seconds{30});
    EXPECT_EQ(costs.physical(job, {.from = 8, .to = 8, .moved = true}), seconds{30});
    EXPECT_EQ(costs.physical(job, {.from = 8, .to = 8}), Duration{});
    EXPECT_EQ(costs.physical(job, {.from = 8, .to = 0}), Duration{});
  }
}

TEST(ResizeCostPhysical, OfARestartThatCostsNothingIsNothing) {
  const ResizeCost costs(ResizeCostModel::Physical, 64, seconds{60}, Duration{});

  EXPECT_EQ(costs.physical(Job{.model = "bert"}, {.from = 1, .to = 2}), Duration{});
}

TEST(ResizeCostArtifact, OfAKnownSetIsTheBaseEvenWhenAllRestart) {
  EXPECT_EQ(artifact(64, 8, true, false), 2);
  EXPECT_EQ(artifact(64, 8, true, true), 2);
  EXPECT_EQ(artifact(256, 8, true, false), 7);
}

TEST(ResizeCostArtifact, OfANewSetGrowsWithTheLogarithmOfItsSize) {
  EXPECT_EQ(artifact(64, 1, false, false), 2 + 2);
  EXPECT_EQ(artifact(64, 2, false, false), 2 + 4);
  EXPECT_EQ(artifact(64, 3, false, false), 2 + 4);
  EXPECT_EQ(artifact(64, 64, false, false), 2 + 14);
}

TEST(ResizeCostArtifact, OfARestartIsHigherOnALargeCluster) {
  EXPECT_EQ(artifact(255, 4, false, true), 2 + 27 + 6);
  EXPECT_EQ(artifact(256, 4, false, true), 7 + 47 + 6);
}

TEST(ResizeCost, RestartsOnceInAsManyRoundsAsASlotHasSeconds) {
  EXPECT_EQ(ResizeCost(ResizeCostModel::Artifact, 64, seconds{240}).rounds_between_restarts(), 240);
  EXPECT_EQ(ResizeCost(ResizeCostModel::Artifact, 64, Duration{}).rounds_between_restarts(), 1);
}

TEST(ResizeCostModel, HasAWordForMachines) {
  EXPECT_EQ(to_string(ResizeCostModel::None), "none");
  EXPECT_EQ(to_string(ResizeCostModel::Artifact), "artifact");
  EXPECT_EQ(to_string(ResizeCostModel::Physical), "physical");
}

}  // namespace
}  // namespace rubato
