#include "rubato/policy/chronus/lease_need.h"

#include <gtest/gtest.h>

#include "rubato/policy/chronus/chronus.h"
#include "rubato/policy/chronus/lease_plan.h"
#include "rubato/policy/testing/policy_scene.h"

namespace rubato::policy::chronus {
namespace {

constexpr double kLeaseSeconds = 1'200;

// What an unstarted job needs from the first lease on.
int need_of(int gpus, double run_seconds) {
  Scene scene([] { return make_chronus(ChronusOptions{}); }, {.cluster = "1x8"});
  scene.submit(due_at(100 * kLeaseSeconds, linear_job(1, 0, gpus, run_seconds)));
  scene.run_until(0);
  const View view = scene.view();
  const LeaseGrid grid(from_seconds(kLeaseSeconds), from_seconds(300), Duration{});
  return leases_needed(view.jobs.at(JobId{1}), rounds::Gang{.pool = PoolId{0}, .workers = gpus},
                       /*holds_present=*/false, LeaseMoment{.base = 0, .grid = grid, .view = view});
}

// Example (d) of the published code: an hour on four GPUs is three leases of work, but 70 minutes
// with the margin and the stops, and so four leases.
TEST(LeaseNeed, AnHourOnFourGpusTakesFourLeases) {
  EXPECT_EQ(estimated_minutes(60, 4, 20), 70);
  EXPECT_EQ(need_of(4, 3'600), 4);
}

TEST(LeaseNeed, TheMarginIsCountedInWholeMinutes) {
  // 18 minutes become 20.3, rounded down: one lease. 19 become 21.4: two.
  EXPECT_EQ(need_of(1, 18 * 60), 1);
  EXPECT_EQ(need_of(1, 19 * 60), 2);
}

}  // namespace
}  // namespace rubato::policy::chronus
