#include "rubato/policy/chronus/chronus.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "rubato/policy/testing/policy_scene.h"

namespace rubato::policy::chronus {
namespace {

constexpr double kLease = 1200;

Scene::Make chronus(std::string options = "") {
  return [options] { return make_chronus(PolicyOptions::parse(options).value()); };
}

// Worth 10 within the first latency, 8 within the second.
Job soft(Job job, double first, double second) {
  job.job_class = JobClass::Soft;
  job.value.kind = ValueKind::Steps;
  job.value.steps = {{.within = from_seconds(first), .amount = 10},
                     {.within = from_seconds(second), .amount = 8}};
  return job;
}

std::vector<Job> random_jobs_of_all_classes(std::uint64_t seed, int count) {
  Random random(seed);
  std::vector<Job> jobs;
  for (int i = 1; i <= count; ++i) {
    Job job = linear_job(static_cast<std::uint64_t>(i), random.uniform(0, 30'000),
                         static_cast<int>(random.integer(1, 8)), random.uniform(60, 9'000));
    const double run = to_seconds(job.arrival) + job.work / job.requested;
    const double kind = random.uniform();
    if (kind < 0.6) {
      job = due_at(run + random.uniform(0, 20'000), job);
    } else if (kind < 0.8) {
      job = soft(job, job.work / job.requested * 2, job.work / job.requested * 2 + 10'000);
    } else {
      job = best_effort(job);
    }
    jobs.push_back(job);
  }
  return jobs;
}

TEST(Chronus, PromisesADeadlineItCanKeepAndKeepsIt) {
  Scene scene(chronus(), {.cluster = "1x4"});
  scene.submit(due_at(3 * kLease, linear_job(1, 0, 4, 1'500)));

  scene.run();

  EXPECT_EQ(scene.verdict(1).kind, VerdictKind::Admit);
  EXPECT_EQ(scene.verdict(1).promised, at_seconds(3 * kLease));
  EXPECT_LE(scene.finish(1), 3 * kLease);
}

// Three leases would do for the work, but not for the margin of the published code.
TEST(Chronus, AnHourOnFourGpusIsPromisedOnlyWithFourLeases) {
  for (const double leases : {3.9, 4.0}) {
    Scene scene(chronus(), {.cluster = "1x4"});
    scene.submit(due_at(leases * kLease, linear_job(1, 0, 4, 3'600)));

    scene.run_until(0);

    EXPECT_EQ(scene.verdict(1).kind, leases < 4 ? VerdictKind::Demote : VerdictKind::Admit);
  }
}

TEST(Chronus, AJobWithoutWorkNeedsALeaseAllTheSame) {
  Scene scene(chronus(), {.cluster = "1x4"});
  scene.submit(due_at(kLease + 200, linear_job(1, 25, 4, 0)));

  scene.run();

  EXPECT_EQ(scene.verdict(1).kind, VerdictKind::Demote);
}

TEST(Chronus, DemotesAJobWhoseLeasesAreTaken) {
  Scene scene(chronus(), {.cluster = "1x4"});
  scene.submit({due_at(2 * kLease, linear_job(1, 0, 4, 1'800)),
                due_at(2 * kLease, linear_job(2, 0, 4, 600)),
                due_at(1'300, linear_job(3, 0, 4, 1'250))});

  scene.run();

  EXPECT_EQ(scene.verdict(1).kind, VerdictKind::Admit);
  EXPECT_EQ(scene.verdict(2).kind, VerdictKind::Demote);
  EXPECT_EQ(scene.verdict(2).reason, Reason::PromisesInTheWay);
  EXPECT_EQ(scene.verdict(3).reason, Reason::DeadlineTooSoon);
  EXPECT_EQ(scene.finishes().size(), 3U);
}

TEST(Chronus, LaysAllPlansOutAnewToAdmitOneMore) {
  // The first takes the last lease before its deadline; the second can use no other.
  Scene scene(chronus(), {.cluster = "1x4"});
  scene.submit({due_at(3 * kLease, linear_job(1, 0, 4, 600)),
                due_at(3 * kLease + 600, linear_job(2, 10, 4, 1'900))});

  scene.run();

  EXPECT_NE(scene.verdict(1).promised, kNever);
  EXPECT_NE(scene.verdict(2).promised, kNever);
  EXPECT_LE(scene.finish(1), 3 * kLease);
  EXPECT_LE(scene.finish(2), 3 * kLease + 600);
}

// While a demoted job waits, guaranteed jobs leave the coming lease to it and run later.
TEST(Chronus, SparesTheNextLeaseForDemotedJobs) {
  Scene scene(chronus(), {.cluster = "1x4"});
  scene.submit(
      {due_at(6 * kLease, linear_job(1, 0, 4, 1'000)), due_at(900, linear_job(2, 0, 4, 890))});

  scene.run_until(100);

  EXPECT_EQ(scene.verdict(2).kind, VerdictKind::Demote);
  EXPECT_EQ(scene.share(2), 4);
  EXPECT_EQ(scene.share(1), 0);
}

TEST(Chronus, UsesTheNextLeaseWhenNobodyWaits) {
  Scene scene(chronus(), {.cluster = "1x4"});
  scene.submit(due_at(20 * kLease, linear_job(1, 0, 4, 1'000)));

  scene.run();

  EXPECT_EQ(scene.finish(1), 1'000);
}

TEST(Chronus, GivesSpareGpusToTheLeastWorkLeft) {
  Scene scene(chronus(), {.cluster = "1x4"});
  scene.submit({best_effort(linear_job(1, 0, 4, 3'000)), best_effort(linear_job(2, 10, 4, 400))});

  scene.run();

  // At the tick of 300 the short job takes over.
  EXPECT_EQ(scene.finish(2), 700);
  EXPECT_EQ(scene.finish(1), 300 + 3'000 - 300 + 600);
}

TEST(Chronus, LeasesComeBeforeBestEffortJobs) {
  Scene scene(chronus(), {.cluster = "1x4"});
  scene.submit({best_effort(linear_job(1, 0, 4, 100'000)),
                due_at(2 * kLease + 100, linear_job(2, 400, 4, 1'000))});

  scene.run_until(1'300);

  EXPECT_EQ(scene.share(1), 0);
  EXPECT_EQ(scene.share(2), 4);
}

// The strict job needs the first two leases; the soft one gets its second deadline.
TEST(Chronus, PutsASoftDeadlineOffForAHardOne) {
  Scene scene(chronus(), {.cluster = "1x4"});
  scene.submit({due_at(2 * kLease, linear_job(1, 0, 4, 1'900)),
                soft(linear_job(2, 0, 2, 1'000), kLease, 4 * kLease)});

  scene.run();

  EXPECT_EQ(scene.verdict(2).promised, at_seconds(4 * kLease));
  EXPECT_LE(scene.finish(1), 2 * kLease);
  EXPECT_LE(scene.finish(2), 4 * kLease);
}

TEST(Chronus, ASoftJobWithoutLeasesIsAdmittedWithoutAPromise) {
  Scene scene(chronus(), {.cluster = "1x4"});
  scene.submit(soft(linear_job(1, 0, 4, 5'000), 1'000, 2'000));

  scene.run();

  EXPECT_EQ(scene.verdict(1).kind, VerdictKind::Admit);
  EXPECT_EQ(scene.verdict(1).promised, kNever);
  EXPECT_EQ(scene.finish(1), 5'000);
}

TEST(Chronus, APutOffDeadlineWithinToleranceIsPromised) {
  const Job job = due_at(1'500, linear_job(1, 0, 4, 1'400));
  Scene strict(chronus(), {.cluster = "1x4"});
  Scene tolerant(chronus("tolerance=2"), {.cluster = "1x4"});
  strict.submit(job);
  tolerant.submit(job);

  strict.run();
  tolerant.run();

  EXPECT_EQ(strict.verdict(1).kind, VerdictKind::Demote);
  EXPECT_EQ(tolerant.verdict(1).promised, at_seconds(2 * kLease));
}

TEST(Chronus, GuaranteedJobsNeverMissWithExactDurations) {
  int promised = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const bool is_mixed = seed % 2 == 0;
    Scene scene(chronus(), {.cluster = is_mixed ? "1x8:a+1x4:b" : "2x4",
                            .slot_seconds = 60,
                            .accounting = static_cast<ResizeCostModel>(seed % 3)});
    scene.submit(random_jobs_of_all_classes(seed, 40));

    scene.run();

    EXPECT_EQ(scene.finishes().size(), 40U) << "seed " << seed;
    for (const auto& [id, verdict] : scene.verdicts()) {
      if (verdict.promised != kNever) {
        ++promised;
        EXPECT_LE(scene.finishes().at(id), verdict.promised)
            << "seed " << seed << " job " << id.value;
      }
    }
  }
  EXPECT_GT(promised, 100);
}

TEST(Chronus, GoesOnExactlyAfterAReloadAndThroughFaults) {
  std::vector<std::map<JobId, Instant>> finishes;
  for (const bool reloads : {false, true}) {
    Scene scene(
        chronus(),
        {.cluster = "2x4:a+1x4:b", .accounting = ResizeCostModel::Physical, .reloads = reloads});
    scene.submit(random_jobs_of_all_classes(99, 40));
    scene.run_until(9'000);
    scene.set_node(NodeId{1}, false);
    for (const auto& [id, share] : scene.shares()) {
      if (share > 0) {
        scene.measure(id.value, 0.6);
      }
    }
    scene.run_until(15'000);
    scene.set_node(NodeId{1}, true);
    scene.run();
    finishes.push_back(scene.finishes());
  }

  EXPECT_EQ(finishes[0].size(), 40U);
  EXPECT_EQ(finishes[0], finishes[1]);
}

TEST(Chronus, PlansAgainAfterAFaultSoThatTheDeadlineStillHolds) {
  Scene scene(chronus(), {.cluster = "2x4"});
  scene.submit(due_at(4 * kLease, linear_job(1, 0, 8, 1'000)));
  scene.run_until(400);

  scene.set_node(NodeId{0}, false);
  scene.run_until(700);
  scene.set_node(NodeId{0}, true);
  scene.run();

  EXPECT_LE(scene.finish(1), 4 * kLease);
}

TEST(Chronus, AProgramCutOffKeepsAllDeadlines) {
  Scene scene(chronus("jobs_max=2,cells_max=5"), {.cluster = "2x4"});
  scene.submit(random_jobs_of_all_classes(7, 40));

  scene.run();

  for (const auto& [id, verdict] : scene.verdicts()) {
    if (verdict.promised != kNever) {
      EXPECT_LE(scene.finishes().at(id), verdict.promised) << "job " << id.value;
    }
  }
}

TEST(Chronus, OptionsAreChecked) {
  EXPECT_FALSE(chronus("tolerance=0.5")().ok());
  EXPECT_FALSE(chronus("leases=5")().ok());
  EXPECT_TRUE(chronus("lease=600,tick=60,cells_max=0")().ok());
}

}  // namespace
}  // namespace rubato::policy::chronus
