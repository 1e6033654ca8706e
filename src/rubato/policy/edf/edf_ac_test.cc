#include "rubato/policy/edf/edf_ac.h"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include <gtest/gtest.h>

#include "rubato/policy/testing/elastic_scene_test.h"
#include "rubato/policy/testing/policy_scene.h"

namespace rubato::policy::edf {
namespace {

Result<std::unique_ptr<Policy>> edf_ac() { return make_edf_ac(PolicyOptions{}); }

TEST(EdfAc, PromisesTheDeadlineOfAJobThatFits) {
  Scene scene(edf_ac, {.cluster = "1x4"});
  scene.submit(due_at(11, linear_job(1, 0, 4, 10)));

  scene.run();

  EXPECT_EQ(scene.verdict(1).kind, VerdictKind::Admit);
  EXPECT_EQ(scene.verdict(1).promised, at_seconds(11));
  EXPECT_NEAR(scene.finish(1), 10, 0.01);
}

TEST(EdfAc, RefusesAJobThatWouldBeLateEvenAlone) {
  Scene scene(edf_ac, {.cluster = "1x4"});
  scene.submit({due_at(9, linear_job(1, 0, 4, 10)), due_at(0, linear_job(2, 0, 4, 10))});

  scene.run();

  EXPECT_EQ(scene.verdict(1).reason, Reason::DeadlineTooSoon);
  EXPECT_EQ(scene.verdict(2).reason, Reason::DeadlinePassed);
}

TEST(EdfAc, RefusesAJobThatWouldBreakAnOlderPromise) {
  Scene scene(edf_ac, {.cluster = "1x4"});
  scene.submit({due_at(11, linear_job(1, 0, 4, 10)), due_at(9, linear_job(2, 0, 4, 2))});

  scene.run();

  EXPECT_EQ(scene.verdict(2).reason, Reason::PromisesInTheWay);
  EXPECT_NEAR(scene.finish(1), 10, 0.01);
}

TEST(EdfAc, LetsAnUrgentJobGoFirstIfAllStayInTime) {
  Scene scene(edf_ac, {.cluster = "1x4"});
  scene.submit({due_at(13, linear_job(1, 0, 4, 10)), due_at(5, linear_job(2, 1, 4, 2))});

  scene.run();

  EXPECT_NEAR(scene.finish(2), 3, 0.01);
  EXPECT_NEAR(scene.finish(1), 12, 0.01);
}

TEST(EdfAc, CountsThePausesOfAPreemption) {
  // Job 1 would end at 13.904. Job 2 takes 3.904 + 2 and the resumption 3.904 more: 23.712.
  const auto verdict = [](double deadline) {
    Scene scene(edf_ac, {.cluster = "1x4", .accounting = ResizeCostModel::Physical});
    scene.submit({due_at(deadline, linear_job(1, 0, 4, 10)), due_at(12, linear_job(2, 5, 4, 2))});
    scene.run();
    return scene.verdict(2).kind;
  };

  EXPECT_EQ(verdict(23.7), VerdictKind::Refuse);
  EXPECT_EQ(verdict(23.8), VerdictKind::Admit);
}

TEST(EdfAc, StopsAtTheSpeedPeak) {
  Scene scene(edf_ac, {.cluster = "1x8", .speeds = concave_speeds()});
  scene.submit({due_at(90, linear_job(1, 0, 1, 80)), due_at(90, linear_job(2, 0, 1, 80))});

  scene.run_until(1);

  EXPECT_EQ(scene.share(1), 4);
  EXPECT_EQ(scene.share(2), 4);
}

TEST(EdfAc, StartsAtOnceOrASlotAfterTheLastRound) {
  Scene scene(edf_ac, {.cluster = "1x4", .slot_seconds = 60});
  scene.submit({due_at(100, linear_job(1, 10, 1, 30)), due_at(100, linear_job(2, 20, 1, 20))});

  scene.run();

  EXPECT_EQ(scene.finish(1), 17.5);
  EXPECT_EQ(scene.finish(2), 75);
}

TEST(EdfAc, GivesBestEffortJobsWhatIsLeft) {
  Scene scene(edf_ac, {.cluster = "1x4"});
  scene.submit({best_effort(linear_job(1, 0, 4, 10)), due_at(8, linear_job(2, 2, 4, 5))});

  scene.run();

  EXPECT_EQ(scene.verdict(1).promised, kNever);
  EXPECT_NEAR(scene.finish(2), 7, 0.01);
  EXPECT_NEAR(scene.finish(1), 15, 0.01);
}

TEST(EdfAc, RefusesAJobThatCanRunNowhere) {
  Scene scene(edf_ac, {.cluster = "1x4"});
  Job wide = due_at(100, linear_job(1, 0, 8, 5));
  wide.workers.min = 8;
  scene.submit(wide);

  scene.run();

  EXPECT_EQ(scene.verdict(1).reason, Reason::TooWide);
}

TEST(EdfAc, SavesThePromisesItCanAfterAFault) {
  // On half of the GPUs job 1 can no longer be in time; job 2 can, if it goes first.
  Scene scene(edf_ac, {.cluster = "2x2"});
  scene.submit({due_at(11, linear_job(1, 0, 4, 10)), due_at(16, linear_job(2, 0, 4, 4))});

  scene.run_until(2);
  scene.set_node(NodeId{0}, false);
  scene.run();

  EXPECT_LE(scene.finish(2), 16);
  EXPECT_NEAR(scene.finish(1), 26, 0.01);
}

TEST(EdfAc, AdmitsJobsWhileALateOneIsStillRunning) {
  Scene scene(edf_ac, {.cluster = "2x2"});
  scene.submit({due_at(11, linear_job(1, 0, 4, 10)), due_at(14, linear_job(2, 3, 2, 5))});

  scene.run_until(2);
  scene.set_node(NodeId{0}, false);
  scene.run();

  EXPECT_EQ(scene.verdict(2).kind, VerdictKind::Admit);
  EXPECT_LE(scene.finish(2), 14);
}

TEST(EdfAc, PlansAnewWhenAJobTurnsOutToBeSlow) {
  // At half its speed job 1 would end at 15: too late, so job 2 goes first.
  Scene scene(edf_ac, {.cluster = "1x4"});
  scene.submit({due_at(14, linear_job(1, 0, 4, 10)), due_at(41, linear_job(2, 0, 4, 10))});

  scene.run_until(5);
  scene.measure(1, 0.5);
  scene.run();

  EXPECT_NEAR(scene.finish(2), 15, 0.01);
  EXPECT_NEAR(scene.finish(1), 25, 0.01);
}

TEST(EdfAc, IsNotHeldUpByAJobThatEndsBeforeTheNextRound) {
  // Job 3 has to go before job 2, at 60; job 1, due at 30, is over by then.
  Scene scene(edf_ac, {.cluster = "1x4", .slot_seconds = 60});
  scene.submit({due_at(30, linear_job(1, 0, 4, 2)), due_at(400, linear_job(2, 0, 4, 100)),
                due_at(75, linear_job(3, 1, 4, 10))});

  scene.run();

  EXPECT_EQ(scene.verdict(3).kind, VerdictKind::Admit);
  EXPECT_EQ(scene.finish(3), 70);
}

std::vector<Job> random_tight_jobs(std::uint64_t seed) {
  Random random(seed);
  std::vector<Job> jobs;
  for (std::uint64_t id = 1; id <= 12; ++id) {
    Job job = linear_job(id, random.uniform(0, 600), 1, random.uniform(30, 900));
    job.deadline = job.arrival + from_seconds(job.work * random.uniform(0.4, 2.5));
    const double kind = random.uniform();
    job.job_class = kind < 0.15   ? JobClass::BestEffort
                    : kind < 0.25 ? JobClass::Soft
                                  : JobClass::Slo;
    jobs.push_back(job);
  }
  return jobs;
}

SceneOptions random_world(std::uint64_t seed) {
  static constexpr std::array<ResizeCostModel, 3> kAccountings = {
      ResizeCostModel::None, ResizeCostModel::Physical, ResizeCostModel::Artifact};
  static constexpr std::array<std::string_view, 3> kClusters = {"1x4", "2x4", "1x3"};
  static constexpr std::array<double, 3> kSlots = {0, 60, 7};
  return {.cluster = kClusters[seed / 9 % 3],
          .slot_seconds = kSlots[seed / 3 % 3],
          .accounting = kAccountings[seed % 3],
          .speeds = concave_speeds()};
}

TEST(EdfAc, KeepsEveryPromiseUnderEveryAccounting) {
  int promises = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const SceneOptions world = random_world(seed);
    Scene scene(edf_ac, world);
    scene.submit(random_tight_jobs(seed));
    Instant last = at_seconds(-1000);
    scene.watch([&] {
      ASSERT_GE(to_seconds(scene.view().now - last), world.slot_seconds) << "seed " << seed;
      last = scene.view().now;
    });

    scene.run();

    for (const auto& [id, verdict] : scene.verdicts()) {
      if (verdict.kind == VerdictKind::Admit) {
        ASSERT_TRUE(scene.finishes().contains(id)) << "seed " << seed;
        ASSERT_LE(scene.finishes().at(id), verdict.promised) << "seed " << seed;
        promises += verdict.promised != kNever ? 1 : 0;
      }
    }
  }
  EXPECT_GT(promises, 9000);
}

TEST(EdfAc, ContinuesFromASavedState) {
  for (std::uint64_t seed = 0; seed < 90; ++seed) {
    SceneOptions options = random_world(seed);
    Scene kept(edf_ac, options);
    options.reloads = true;
    Scene reloaded(edf_ac, options);
    kept.submit(random_tight_jobs(seed));
    reloaded.submit(random_tight_jobs(seed));

    kept.run();
    reloaded.run();

    ASSERT_EQ(kept.finishes(), reloaded.finishes()) << "seed " << seed;
  }
}

// One machine, preemptive EDF, which is optimal: a job is in time iff nobody is late in it.
class OneMachine {
 public:
  bool admits(const Job& job) {
    advance(to_seconds(job.arrival));
    auto with_new = queue_;
    with_new.emplace(to_seconds(job.deadline), std::pair(job.id, job.work));
    double end = now_;
    for (const auto& [deadline, entry] : with_new) {
      end += entry.second;
      if (end > deadline) {
        return false;
      }
    }
    queue_ = with_new;
    return true;
  }

 private:
  void advance(double to) {
    while (!queue_.empty() && now_ < to) {
      const double step = std::min(queue_.begin()->second.second, to - now_);
      queue_.begin()->second.second -= step;
      now_ += step;
      if (queue_.begin()->second.second <= 1e-9) {
        queue_.erase(queue_.begin());
      }
    }
    now_ = to;
  }

  double now_ = 0;
  std::multimap<double, std::pair<JobId, double>> queue_;
};

TEST(EdfAc, AdmitsExactlyWhatOneMachineCanDoInTime) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Random random(seed);
    Scene scene(edf_ac, {.cluster = "1x1"});
    std::vector<Job> jobs;
    for (std::uint64_t id = 1; id <= 12; ++id) {
      const double arrival = static_cast<double>(random.integer(0, 40));
      const double work = static_cast<double>(random.integer(1, 12));
      // Half seconds: nobody is due at the very moment it ends.
      const double slack = static_cast<double>(random.integer(0, 30)) + 0.5;
      jobs.push_back(due_at(arrival + work + slack, linear_job(id, arrival, 1, work)));
    }
    scene.submit(jobs);
    std::ranges::sort(jobs, {}, [](const Job& job) { return std::pair(job.arrival, job.id); });
    OneMachine machine;

    scene.run();

    for (const Job& job : jobs) {
      ASSERT_EQ(scene.verdict(job.id.value).kind == VerdictKind::Admit, machine.admits(job))
          << "seed " << seed << " job " << job.id.value;
    }
  }
}

}  // namespace
}  // namespace rubato::policy::edf
