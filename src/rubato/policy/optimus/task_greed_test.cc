#include "rubato/policy/optimus/task_greed.h"

#include <array>
#include <limits>

#include <gtest/gtest.h>

#include "rubato/base/random.h"

namespace rubato::policy::optimus {
namespace {

// Remaining time of synchronous training with parameter servers, as Optimus models it.
TaskHolder synchronous(double steps) {
  return {.tasks = {1, 1}, .time_left = [steps](std::span<const int> tasks) {
            const double w = tasks[0];
            const double p = tasks[1];
            return steps * (1 * 8 / w + 2 + 1 * w / p + 0.1 * w + 0.1 * p);
          }};
}

TEST(TaskGreed, GivesBothJobsTwoWorkersAndTwoServersInThePapersSetting) {
  std::array holders = {synchronous(100), synchronous(40)};
  std::array supplies = {TaskSupply{.left = 2}, TaskSupply{.left = 2}};

  hand_out_tasks(holders, supplies);

  EXPECT_EQ(holders[0].tasks, (std::vector<int>{2, 2}));
  EXPECT_EQ(holders[1].tasks, (std::vector<int>{2, 2}));
  EXPECT_NEAR(holders[0].time_left(holders[0].tasks), 740, 1e-9);
  EXPECT_NEAR(holders[1].time_left(holders[1].tasks), 296, 1e-9);
}

TEST(TaskGreed, TakesTheStepsInTheOrderOfTheirGain) {
  // Savings 290, 116, 90, 36: with fewer tasks only the first of them happen.
  std::array holders = {synchronous(100), synchronous(40)};
  std::array supplies = {TaskSupply{.left = 1}, TaskSupply{.left = 1}};

  hand_out_tasks(holders, supplies);

  EXPECT_EQ(holders[0].tasks, (std::vector<int>{2, 2}));
  EXPECT_EQ(holders[1].tasks, (std::vector<int>{1, 1}));
}

TEST(TaskGreed, StopsWhenNobodyGainsOrMayHaveMore) {
  std::array holders = {
      TaskHolder{.tasks = {1}, .time_left = [](std::span<const int>) { return 10.0; }},
      TaskHolder{.tasks = {1}, .limits = {3}, .time_left = [](std::span<const int> tasks) {
                   return 12.0 / tasks[0];
                 }}};
  std::array supplies = {TaskSupply{.left = 9}};

  hand_out_tasks(holders, supplies);

  EXPECT_EQ(holders[0].tasks.front(), 1);
  EXPECT_EQ(holders[1].tasks.front(), 3);
  EXPECT_EQ(supplies.front().left, 7);
}

TEST(TaskGreed, IsOptimalForTimesThatFallEverMoreSlowly) {
  Random random(5);
  for (int round = 0; round < 2'000; ++round) {
    const std::array works = {random.uniform(1, 10), random.uniform(1, 10), random.uniform(1, 10)};
    const int extra = static_cast<int>(random.integer(0, 6));
    std::vector<TaskHolder> holders;
    for (const double work : works) {
      holders.push_back({.tasks = {1}, .time_left = [work](std::span<const int> tasks) {
                           return work / tasks[0];
                         }});
    }
    std::array supplies = {TaskSupply{.left = extra}};

    hand_out_tasks(holders, supplies);

    double best = std::numeric_limits<double>::infinity();
    for (int a = 0; a <= extra; ++a) {
      for (int b = 0; a + b <= extra; ++b) {
        best = std::min(best,
                        works[0] / (1 + a) + works[1] / (1 + b) + works[2] / (1 + extra - a - b));
      }
    }
    double total = 0;
    for (const TaskHolder& holder : holders) {
      total += holder.time_left(holder.tasks);
    }
    ASSERT_NEAR(total, best, 1e-9) << "round " << round;
  }
}

}  // namespace
}  // namespace rubato::policy::optimus
