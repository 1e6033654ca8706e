#include "rubato/predict/throughput_fit.h"

#include <cmath>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/base/random.h"

namespace rubato {
namespace {

StepObservation seen(const ThroughputModel& model, int nodes, int workers, int local_batch) {
  return {.nodes = nodes,
          .workers = workers,
          .local_batch = local_batch,
          .pass_seconds = model.pass_seconds(local_batch),
          .step_seconds = model.step_seconds(nodes, workers, {.local = local_batch})};
}

// One worker, some in a node, and some across nodes, at three local batches each.
std::vector<StepObservation> seen_everywhere(const ThroughputModel& model) {
  constexpr std::pair<int, int> kShapes[] = {{1, 1}, {1, 2}, {1, 4}, {2, 2}, {2, 8}, {4, 16}};
  std::vector<StepObservation> all;
  for (const auto& [nodes, workers] : kShapes) {
    for (const int local_batch : {16, 32, 128}) {
      all.push_back(seen(model, nodes, workers, local_batch));
    }
  }
  return all;
}

ThroughputModel draw_model(Random& random) {
  const auto time = [&] { return std::pow(10, random.uniform(-2, 0.3)); };
  ThroughputModel model{.pass_constant = time(),
                        .node_constant = time(),
                        .wide_constant = time(),
                        .gamma = random.uniform(1, 3)};
  model.pass_per_sample = model.pass_constant * random.uniform(0.001, 0.05);
  model.node_per_worker = model.node_constant * random.uniform(0, 0.3);
  model.wide_per_worker = model.wide_constant * random.uniform(0, 0.3);
  return model;
}

double squared(double number) { return number * number; }

// The loss as Pollux writes it.
double loss(const ThroughputModel& model, const std::vector<StepObservation>& observations) {
  double passes = 0;
  double steps = 0;
  for (const StepObservation& each : observations) {
    passes += squared(std::log(model.pass_seconds(each.local_batch) / each.pass_seconds));
    steps +=
        squared(std::log(model.step_seconds(each.nodes, each.workers, {.local = each.local_batch}) /
                         each.step_seconds));
  }
  const auto count = static_cast<double>(observations.size());
  return std::sqrt(passes / count) + std::sqrt(steps / count) + 1e-3 * squared(model.gamma - 1) +
         1e-2 * (squared(model.node_per_worker / model.node_constant) +
                 squared(model.wide_per_worker / model.wide_constant));
}

// The largest error of a predicted step, as a fraction.
double worst_error(const ThroughputModel& model, const std::vector<StepObservation>& truth) {
  double worst = 0;
  for (const StepObservation& each : truth) {
    const double step = model.step_seconds(each.nodes, each.workers, {.local = each.local_batch});
    worst = std::max(worst, std::abs(step / each.step_seconds - 1));
  }
  return worst;
}

TEST(FitThroughput, FindsAModelThatWasSeenEverywhere) {
  Random random(1);
  for (int i = 0; i < 200; ++i) {
    const ThroughputModel truth = draw_model(random);
    const auto observations = seen_everywhere(truth);

    const ThroughputModel fitted = fit_throughput(observations);

    ASSERT_LT(worst_error(fitted, observations), 0.05) << "model " << i;
    ASSERT_LT(loss(fitted, observations), loss(truth, observations) + 2e-3) << "model " << i;
  }
}

TEST(FitThroughput, IsNoWorseThanTheTruthThatNoiseHides) {
  Random random(2);
  for (int i = 0; i < 200; ++i) {
    const ThroughputModel truth = draw_model(random);
    auto observations = seen_everywhere(truth);
    for (StepObservation& each : observations) {
      each.pass_seconds *= random.uniform(0.9, 1);
      each.step_seconds *= random.uniform(1, 1.1);
    }

    const ThroughputModel fitted = fit_throughput(observations);

    ASSERT_LT(loss(fitted, observations), loss(truth, observations) + 2e-3) << "model " << i;
  }
}

TEST(FitThroughput, PredictsSizesBetweenThoseItSaw) {
  Random random(3);
  for (int i = 0; i < 100; ++i) {
    const ThroughputModel truth = draw_model(random);

    const ThroughputModel fitted = fit_throughput(seen_everywhere(truth));

    const std::vector<StepObservation> others = {seen(truth, 1, 3, 64), seen(truth, 3, 12, 24),
                                                 seen(truth, 2, 4, 100)};
    ASSERT_LT(worst_error(fitted, others), 0.08) << "model " << i;
  }
}

TEST(FitThroughput, OfOneWorkerExplainsItWithHalfOfAPassConstant) {
  const std::vector<StepObservation> one = {
      {.nodes = 1, .workers = 1, .local_batch = 32, .pass_seconds = 0.4, .step_seconds = 0.4}};

  const ThroughputModel fitted = fit_throughput(one);

  EXPECT_DOUBLE_EQ(fitted.pass_constant, 0.2);
  EXPECT_NEAR(fitted.pass_seconds(32), 0.4, 1e-3);
  EXPECT_NEAR(fitted.step_seconds(1, 1, {.local = 64}), 0.6, 2e-3);
}

TEST(FitThroughput, TakesExchangeToBeFreeUntilThereWereTwoWorkers) {
  const ThroughputModel truth{.pass_constant = 0.1, .pass_per_sample = 0.01};

  const ThroughputModel fitted =
      fit_throughput(std::vector{seen(truth, 1, 1, 16), seen(truth, 1, 1, 64)});

  EXPECT_LT(fitted.exchange_seconds(1, 64), 1e-6);
  EXPECT_LT(fitted.exchange_seconds(16, 64), 1e-6);
  EXPECT_NEAR(fitted.pass_constant, 0.1, 0.005);
  EXPECT_NEAR(fitted.pass_per_sample, 0.01, 0.0005);
}

TEST(FitThroughput, TakesMoreThanTwoWorkersToCostNothingUntilThereWereMore) {
  const ThroughputModel truth{
      .pass_constant = 0.1, .pass_per_sample = 0.01, .node_constant = 0.2, .node_per_worker = 0.05};

  const ThroughputModel fitted =
      fit_throughput(std::vector{seen(truth, 1, 1, 16), seen(truth, 1, 2, 64)});

  EXPECT_NEAR(fitted.exchange_seconds(1, 2), 0.2, 0.01);
  EXPECT_NEAR(fitted.exchange_seconds(1, 64), fitted.exchange_seconds(1, 2), 1e-5);
}

TEST(FitThroughput, TakesOtherNodesToBeATenthDearerUntilThereWereAny) {
  const ThroughputModel truth{
      .pass_constant = 0.1, .pass_per_sample = 0.01, .node_constant = 0.2, .node_per_worker = 0.05};

  const ThroughputModel fitted = fit_throughput(
      std::vector{seen(truth, 1, 1, 16), seen(truth, 1, 2, 64), seen(truth, 1, 4, 64)});

  EXPECT_DOUBLE_EQ(fitted.wide_constant, 1.1 * fitted.node_constant);
  EXPECT_DOUBLE_EQ(fitted.wide_per_worker, 1.1 * fitted.node_per_worker);
}

TEST(FitThroughput, KnowsNothingOfOneNodeIfOnlySeveralWereSeen) {
  const ThroughputModel truth{
      .pass_constant = 0.1, .pass_per_sample = 0.01, .wide_constant = 0.3, .wide_per_worker = 0.02};

  const ThroughputModel fitted =
      fit_throughput(std::vector{seen(truth, 2, 2, 16), seen(truth, 2, 8, 64)});

  EXPECT_LT(fitted.exchange_seconds(1, 4), 1e-6);
  EXPECT_GT(fitted.exchange_seconds(2, 8), 0.2);
}

TEST(FitThroughput, StaysWithinItsBounds) {
  Random random(4);
  for (int i = 0; i < 500; ++i) {
    // Times that no model explains.
    std::vector<StepObservation> observations;
    for (std::int64_t k = random.integer(1, 12); k > 0; --k) {
      const int nodes = static_cast<int>(random.integer(1, 4));
      const double pass = std::pow(10, random.uniform(-6, 4));
      observations.push_back({.nodes = nodes,
                              .workers = nodes * static_cast<int>(random.integer(1, 4)),
                              .local_batch = static_cast<int>(random.integer(1, 1000)),
                              .pass_seconds = pass,
                              .step_seconds = pass * std::pow(10, random.uniform(0, 4))});
    }

    const ThroughputModel fitted = fit_throughput(observations);

    for (const double constant :
         {fitted.pass_constant, fitted.pass_per_sample, fitted.node_constant,
          fitted.node_per_worker, fitted.wide_constant, fitted.wide_per_worker}) {
      ASSERT_TRUE(std::isfinite(constant)) << "draw " << i;
      ASSERT_GE(constant, 0.99e-8) << "draw " << i;
    }
    ASSERT_GE(fitted.gamma, 1);
    ASSERT_LE(fitted.gamma, 10);
    ASSERT_EQ(fit_throughput(observations), fitted);
  }
}

}  // namespace
}  // namespace rubato
