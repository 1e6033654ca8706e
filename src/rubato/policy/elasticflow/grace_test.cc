// Jobs that fall behind where deadlines are given a margin early.
#include "rubato/policy/elasticflow/grace.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "rubato/policy/elasticflow/elasticflow.h"
#include "rubato/policy/testing/policy_scene.h"

namespace rubato::policy::elasticflow {
namespace {

Scene::Make graceful(std::string options) {
  return [options = std::move(options)] {
    return make_elasticflow(PolicyOptions::parse(options).value());
  };
}

JobState promised_job(double arrival, double deadline) {
  JobState state;
  state.job = due_at(deadline, linear_job(1, arrival, 1, 1));
  return state;
}

TEST(DeadlineGrace, IsAPartOfTheTimeButSoMuchAtLeast) {
  const DeadlineGrace grace(0.1, from_seconds(5));

  EXPECT_EQ(grace.latest(promised_job(100, 300)), at_seconds(320));
  EXPECT_EQ(grace.latest(promised_job(100, 110)), at_seconds(115));
  EXPECT_EQ(DeadlineGrace().latest(promised_job(100, 300)), at_seconds(300));
}

TEST(DeadlineGrace, IsUsedOnlyOnceGrantedAndNoFurtherThanThePlanSays) {
  DeadlineGrace grace(0.1, Duration{});
  const JobState job = promised_job(0, 100);
  EXPECT_EQ(grace.deadline(job), at_seconds(100));

  EXPECT_TRUE(grace.grant(job));
  EXPECT_EQ(grace.deadline(job), at_seconds(110));
  EXPECT_FALSE(grace.grant(job)) << "once";
  grace.tighten(job, at_seconds(104));
  EXPECT_EQ(grace.deadline(job), at_seconds(104));
  grace.tighten(job, at_seconds(90));
  EXPECT_EQ(grace.deadline(job), at_seconds(100)) << "it was promised no earlier";
  grace.forget(job.id());
  EXPECT_EQ(grace.deadline(job), at_seconds(100));
  EXPECT_FALSE(DeadlineGrace().grant(job));
}

// When the later of two jobs ends that fill the cluster up to their deadlines, one of which turns
// out to be slower than the book says. A third would take all that is left of the next minutes.
double later_finish(const std::string& options, bool reloads) {
  Scene scene(graceful(options), {.slot_seconds = 1, .reloads = reloads});
  scene.submit({due_at(100, linear_job(1, 0, 2, 99)), due_at(100, linear_job(2, 0, 2, 99)),
                due_at(300.5, linear_job(3, 50, 4, 222))});
  scene.run_until(10);
  scene.measure(1, 0.95);
  scene.run();
  return std::max(scene.finish(1), scene.finish(2));
}

TEST(ElasticFlowGrace, AJobThatFallsBehindIsNotGivenUpWithinIt) {
  for (const bool reloads : {false, true}) {
    EXPECT_GT(later_finish("", reloads), 300) << "given up, it waits for the third";
    EXPECT_LE(later_finish("grace=0.05", reloads), 105);
  }
}

TEST(ElasticFlowGrace, BadOptionsAreRefused) {
  EXPECT_FALSE(make_elasticflow(PolicyOptions::parse("grace=2").value()).ok());
  EXPECT_FALSE(make_elasticflow(PolicyOptions::parse("grace_min=-1").value()).ok());
}

}  // namespace
}  // namespace rubato::policy::elasticflow
