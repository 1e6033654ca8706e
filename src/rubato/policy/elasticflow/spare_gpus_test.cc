#include "rubato/policy/elasticflow/spare_gpus.h"

#include <deque>
#include <map>

#include <gtest/gtest.h>

#include "rubato/base/random.h"

namespace rubato::policy::elasticflow {
namespace {

ScalingCurve linear() {
  return ScalingCurve({{.workers = 1, .speed = 1},
                       {.workers = 2, .speed = 2},
                       {.workers = 4, .speed = 4},
                       {.workers = 8, .speed = 8}});
}

ScalingCurve concave() {
  return ScalingCurve(
      {{.workers = 1, .speed = 1}, {.workers = 2, .speed = 1.5}, {.workers = 4, .speed = 2}});
}

/// Contenders and the jobs they stand for.
class ContestedPool {
 public:
  explicit ContestedPool(int gpus) : gpus_(gpus) {
    rules.finishes_sooner = [](const Contender&, int) { return true; };
    rules.try_resize_within_promise = [](const Contender&, int) { return true; };
  }

  // In order of arrival, ids from zero.
  void add(const ScalingCurve& curve, int share, int floor, int turn = 1) {
    JobState& job = jobs_.emplace_back();
    job.job.id = JobId{jobs_.size() - 1};
    job.share = share;
    const ScalingCurve& kept = curves_.emplace_back(curve);
    contenders_.emplace_back(job, kept, floor, turn);
  }

  std::vector<int> share() {
    share_out(contenders_, gpus_, rules);
    std::vector<int> workers;
    for (const Contender& each : contenders_) {
      workers.push_back(each.workers);
    }
    return workers;
  }

  SpareRules rules;

 private:
  int gpus_;
  std::deque<JobState> jobs_;
  std::deque<ScalingCurve> curves_;
  std::vector<Contender> contenders_;
};

using Shares = std::vector<int>;

TEST(StepCost, IsTheShareOfAddedGpuTimeThatBringsNothing) {
  EXPECT_EQ(step_cost(linear(), 2, 8), 0);
  EXPECT_EQ(step_cost(concave(), 1, 2), 0.5);             // (2 - 1 * 1.5) / 1
  EXPECT_DOUBLE_EQ(step_cost(concave(), 2, 4), 2.0 / 3);  // (4 - 2 * 2 / 1.5) / 2
  EXPECT_EQ(step_cost(concave(), 4, 8), 1);               // Past the peak.
  EXPECT_EQ(step_cost(concave(), 0, 1), 0);
}

TEST(SpareGpus, GivesFloorsFirst) {
  ContestedPool pool(4);
  pool.add(linear(), 0, 0, 0);
  pool.add(concave(), 0, 4);

  EXPECT_EQ(pool.share(), (Shares{0, 4}));
}

TEST(SpareGpus, RaisesWhoWastesTheLeast) {
  ContestedPool pool(6);
  pool.add(concave(), 1, 1);
  pool.add(linear(), 1, 1);

  EXPECT_EQ(pool.share(), (Shares{2, 4}));
}

TEST(SpareGpus, GoesOnToTheNextStepThatFits) {
  ContestedPool pool(7);
  pool.add(linear(), 4, 4);  // Its next step needs four more.
  pool.add(concave(), 1, 1);

  EXPECT_EQ(pool.share(), (Shares{4, 2}));
}

TEST(SpareGpus, BreaksTiesByArrivalThenId) {
  ContestedPool pool(3);
  pool.add(linear(), 1, 1);
  pool.add(linear(), 1, 1);

  EXPECT_EQ(pool.share(), (Shares{2, 1}));
}

TEST(SpareGpus, StartsLateJobsThenUnpromisedOnesThenThoseWhoseTurnIsToCome) {
  ContestedPool pool(2);
  pool.add(linear(), 0, 0, 2);
  pool.add(linear(), 0, 0, 1);
  pool.add(linear(), 0, 0, 0);

  EXPECT_EQ(pool.share(), (Shares{0, 1, 1}));
}

TEST(SpareGpus, StartsEveryoneBeforeAnyoneIsRaised) {
  ContestedPool pool(4);
  pool.add(linear(), 1, 1);
  pool.add(concave(), 0, 0);
  pool.add(concave(), 0, 0);

  EXPECT_EQ(pool.share(), (Shares{2, 1, 1}));
}

TEST(SpareGpus, LetsJobsKeepWhatTheyHaveBeforeOthersAreRaised) {
  ContestedPool pool(6);
  pool.add(linear(), 1, 1);
  pool.add(concave(), 4, 1);

  EXPECT_EQ(pool.share(), (Shares{2, 4}));
}

TEST(SpareGpus, ShrinksToTheFloorWhoCannotBearAnythingBetween) {
  ContestedPool pool(6);
  pool.rules.try_resize_within_promise = [](const Contender& who, int) {
    return who.state->id() != JobId{1};
  };
  pool.add(concave(), 4, 4);
  pool.add(linear(), 8, 1);

  EXPECT_EQ(pool.share(), (Shares{4, 1}));
}

TEST(SpareGpus, StopsAJobThatCannotBearASmallerShare) {
  ContestedPool pool(1);
  pool.rules.try_resize_within_promise = [](const Contender&, int) { return false; };
  pool.add(linear(), 8, 0);

  EXPECT_EQ(pool.share(), (Shares{0}));
}

TEST(SpareGpus, TakesNoStepThatDoesNotPay) {
  ContestedPool pool(8);
  pool.rules.finishes_sooner = [](const Contender&, int workers) { return workers <= 2; };
  pool.add(linear(), 1, 1);

  EXPECT_EQ(pool.share(), (Shares{2}));
}

TEST(SpareGpus, NeverPassesThePeak) {
  ContestedPool pool(64);
  pool.add(concave(), 0, 0);

  EXPECT_EQ(pool.share(), (Shares{4}));
}

// The greedy order by brute force: among all next steps that fit, the cheapest, again and again.
TEST(SpareGpus, TakesTheCheapestStepEachTime) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    const auto gpus = static_cast<int>(random.integer(4, 24));
    ContestedPool pool(gpus);
    std::vector<ScalingCurve> curves;
    Shares expected;
    int free = gpus;
    for (std::int64_t i = random.integer(1, 4); i > 0; --i) {
      std::vector<ScalingPoint> points;
      double speed = 0;
      for (int workers = 1; workers <= 16; workers *= 2) {
        speed += random.uniform(0.05, 1) * workers;
        points.push_back({.workers = workers, .speed = speed});
      }
      curves.emplace_back(std::move(points));
      pool.add(curves.back(), 1, 1);
      expected.push_back(1);
      --free;
    }
    while (true) {
      std::map<std::pair<double, std::size_t>, int> steps;
      for (std::size_t i = 0; i < curves.size(); ++i) {
        const int next = curves[i].next_above(expected[i]).workers;
        if (next > 0 && next - expected[i] <= free) {
          steps[{step_cost(curves[i], expected[i], next), i}] = next;
        }
      }
      if (steps.empty()) {
        break;
      }
      const auto& [key, next] = *steps.begin();
      free -= next - expected[key.second];
      expected[key.second] = next;
    }

    ASSERT_EQ(pool.share(), expected) << "seed " << seed;
  }
}

}  // namespace
}  // namespace rubato::policy::elasticflow
