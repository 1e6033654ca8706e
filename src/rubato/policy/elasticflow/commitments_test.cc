#include "rubato/policy/elasticflow/commitments.h"

#include <array>
#include <map>
#include <tuple>

#include <gtest/gtest.h>

#include "rubato/base/random.h"
#include "rubato/policy/testing/timeline_test.h"

namespace rubato::policy::elasticflow {
namespace {

constexpr std::array kFour = {4};

TEST(Commitments, ReservePlansOnTheLedgerOfTheirPool) {
  constexpr std::array kTwoPools = {4, 8};
  Commitments commitments(kTwoPools);

  commitments.set(JobId{1}, at_seconds(9), plan_of({{0, 5, 3}}, PoolId{1}), at_seconds(0));

  EXPECT_EQ(commitments.ledger(PoolId{0}).free_at(at_seconds(1)), 4);
  EXPECT_EQ(commitments.ledger(PoolId{1}).free_at(at_seconds(1)), 5);
  EXPECT_EQ(commitments.ledger(PoolId{1}).free_at(at_seconds(5)), 8);
}

TEST(Commitments, FreeOnlyTheFutureOfADroppedPlan) {
  Commitments commitments(kFour);
  const Plan plan = plan_of({{0, 5, 3}, {6, 8, 1}});
  commitments.set(JobId{1}, at_seconds(9), plan, at_seconds(0));

  EXPECT_EQ(commitments.drop(JobId{1}, at_seconds(3)), plan);

  EXPECT_EQ(commitments.ledger(PoolId{}).free_at(at_seconds(2)), 1);
  EXPECT_EQ(commitments.ledger(PoolId{}).min_free(at_seconds(3), kNever), 4);
  EXPECT_EQ(commitments.find(JobId{1}), nullptr);
  EXPECT_EQ(commitments.next_change(), kNever);
}

TEST(Commitments, WalkByDeadlineThenId) {
  Commitments commitments(kFour);
  commitments.set(JobId{1}, at_seconds(9), Plan{}, at_seconds(0));
  commitments.set(JobId{3}, at_seconds(7), Plan{}, at_seconds(0));
  commitments.set(JobId{2}, at_seconds(9), Plan{}, at_seconds(0));

  std::vector<std::uint64_t> order;
  for (const auto& [deadline, job] : commitments.by_deadline()) {
    order.push_back(job.value);
  }

  EXPECT_EQ(order, (std::vector<std::uint64_t>{3, 1, 2}));
}

TEST(Commitments, NameEachMomentOfChangeOnceUntilItWasHandled) {
  Commitments commitments(kFour);
  commitments.set(JobId{1}, at_seconds(9), plan_of({{1, 3, 1}, {3, 5, 2}}), at_seconds(0));
  commitments.set(JobId{2}, at_seconds(9), plan_of({{3, 5, 1}}), at_seconds(0));

  EXPECT_EQ(commitments.changes_after(at_seconds(0)),
            (std::vector<Instant>{at_seconds(1), at_seconds(3)}));
  commitments.advance(at_seconds(3), at_seconds(1));
  EXPECT_EQ(commitments.next_change(), at_seconds(3));
  commitments.drop(JobId{1}, at_seconds(3));
  EXPECT_EQ(commitments.next_change(), at_seconds(3));  // Still the other job's.
  commitments.advance(at_seconds(3), at_seconds(3));
  EXPECT_EQ(commitments.next_change(), kNever);
}

TEST(Commitments, AreReplacedAllAtOnce) {
  Commitments commitments(kFour);
  commitments.set(JobId{1}, at_seconds(9), plan_of({{0, 5, 4}}), at_seconds(0));
  std::vector<Commitment> others = {
      {.job = JobId{2}, .deadline = at_seconds(8), .plan = plan_of({{2, 4, 2}})}};
  constexpr std::array kTwo = {2};

  commitments.replace_all(others, kTwo);

  EXPECT_EQ(commitments.size(), 1U);
  EXPECT_EQ(commitments.find(JobId{1}), nullptr);
  EXPECT_EQ(commitments.ledger(PoolId{}).free_at(at_seconds(1)), 2);
  EXPECT_EQ(commitments.ledger(PoolId{}).free_at(at_seconds(3)), 0);
}

/// What plans use in each second, counted one by one.
struct SecondsUsed {
  static constexpr std::size_t kSeconds = 500;

  /// `sign`: 1 for a plan that is set, -1 for one that is dropped.
  void count(const Plan& plan, int sign) {
    for (const PlanSegment& segment : plan.segments) {
      const auto from = static_cast<std::size_t>(to_seconds(segment.from.time_since_epoch()));
      const auto to = static_cast<std::size_t>(to_seconds(segment.to.time_since_epoch()));
      starts.at(from) += sign;
      for (std::size_t second = from; second < to; ++second) {
        used.at(second) += sign * segment.workers;
      }
    }
  }

  std::array<int, kSeconds> used{};
  std::array<int, kSeconds> starts{};
};

// Plans and ledger agree at every moment, whatever is set and dropped on the way.
TEST(Commitments, AgreeWithTheirLedger) {
  constexpr std::array kEight = {8};
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    Commitments commitments(kEight);
    std::map<JobId, Plan> plans;
    SecondsUsed seconds;
    int now = 0;
    for (int step = 0; step < 60; ++step) {
      const JobId job{static_cast<std::uint64_t>(random.integer(0, 9))};
      if (random.chance(0.3)) {
        now += static_cast<int>(random.integer(0, 5));
        commitments.advance(at_seconds(now), at_seconds(now));
      }
      commitments.drop(job, at_seconds(now));
      seconds.count(plans[job], -1);
      Plan plan;
      int from = now + static_cast<int>(random.integer(0, 10));
      for (std::int64_t i = random.integer(0, 3); i > 0; --i) {
        const int to = from + static_cast<int>(random.integer(1, 10));
        const int room = commitments.ledger(PoolId{}).min_free(at_seconds(from), at_seconds(to));
        if (const auto workers = static_cast<int>(random.integer(0, room)); workers > 0) {
          plan.segments.push_back(
              {.from = at_seconds(from), .to = at_seconds(to), .workers = workers});
        }
        from = to + static_cast<int>(random.integer(0, 3));
      }
      commitments.set(job, at_seconds(100), plan, at_seconds(now));
      seconds.count(plan, 1);
      plans[job] = plan;
      for (int at = now; at < now + 60; ++at) {
        const auto second = static_cast<std::size_t>(at);
        ASSERT_EQ(commitments.ledger(PoolId{}).free_at(at_seconds(at)), 8 - seconds.used.at(second))
            << "seed " << seed << " step " << step << " at " << at;
        ASSERT_TRUE(at <= now ||
                    commitments.changes_at(at_seconds(at)) == (seconds.starts.at(second) > 0))
            << "seed " << seed << " step " << step << " at " << at;
      }
    }
  }
}

}  // namespace
}  // namespace rubato::policy::elasticflow
