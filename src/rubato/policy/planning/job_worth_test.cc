#include "rubato/policy/planning/job_worth.h"

#include <gtest/gtest.h>

#include "rubato/policy/baseline/fifo.h"
#include "rubato/policy/testing/policy_scene.h"

namespace rubato::policy::planning {
namespace {

/// A job as a policy sees it on arrival; the cluster has two nodes of four GPUs.
class Seen {
 public:
  explicit Seen(const Job& job) {
    scene_.submit(job);
    scene_.run_until(to_seconds(job.arrival));
  }
  [[nodiscard]] JobWorth worth() { return {state(), scene_.view()}; }
  [[nodiscard]] JobNeeds needs() { return needs_of(state(), scene_.view()); }

 private:
  [[nodiscard]] const JobState& state() const { return scene_.jobs().at(JobId{1}); }

  Scene scene_{[] { return baseline::make_fifo(PolicyOptions{}); }, {.cluster = "2x4"}};
};

TEST(JobNeeds, AreThoseOfTheBestCounts) {
  const JobNeeds needs = Seen(linear_job(1, 0, 2, 3600)).needs();

  EXPECT_DOUBLE_EQ(needs.gpu_time, 7200);
  EXPECT_EQ(needs.fastest, from_seconds(900));
}

TEST(JobWorth, IsTheGpuTimeOfAPlainJobAndATenthLessAtTheDeadline) {
  Job job = due_at(1100, linear_job(1, 100, 2, 3600));
  job.job_class = JobClass::Soft;
  job.weight = 3;
  const JobWorth worth = Seen(job).worth();

  EXPECT_DOUBLE_EQ(worth.at(at_seconds(100)), 6);
  EXPECT_DOUBLE_EQ(worth.at(at_seconds(1100)), 5.4);
  EXPECT_DOUBLE_EQ(worth.at(at_seconds(1600)), 2.7);
  EXPECT_DOUBLE_EQ(worth.at(at_seconds(5000)), 0);
  EXPECT_FALSE(worth.may_be_refused());
}

TEST(JobWorth, IsNothingAfterAHardDeadline) {
  const JobWorth worth = Seen(due_at(1000, linear_job(1, 0, 1, 3600))).worth();

  EXPECT_DOUBLE_EQ(worth.at(at_seconds(1000)), 0.9);
  EXPECT_EQ(worth.at(at_seconds(1001)), 0);
  EXPECT_TRUE(worth.may_be_refused());
}

TEST(JobWorth, HasPatienceWithoutADeadline) {
  // Its fastest run takes 450 s.
  const JobWorth worth = Seen(best_effort(linear_job(1, 0, 1, 3600))).worth();

  EXPECT_DOUBLE_EQ(worth.at(at_seconds(4500)), 0.9);
  EXPECT_EQ(worth.at(kNever), 0);
}

TEST(JobWorth, IsWhatTheOwnerSays) {
  Job job = best_effort(linear_job(1, 100, 1, 3600));
  job.value = {
      .kind = ValueKind::LinearAfterDeadline, .amount = 20, .decay = 4, .knee = from_seconds(3)};
  const JobWorth worth = Seen(job).worth();

  EXPECT_DOUBLE_EQ(worth.at(at_seconds(103)), 20);
  EXPECT_DOUBLE_EQ(worth.at(at_seconds(105)), 12);
  EXPECT_TRUE(worth.may_be_refused());
}

}  // namespace
}  // namespace rubato::policy::planning
