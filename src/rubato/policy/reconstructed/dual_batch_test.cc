#include "rubato/policy/reconstructed/dual_batch.h"

#include <map>

#include <gtest/gtest.h>

#include "rubato/policy/reconstructed/doubling_clock.h"
#include "rubato/policy/testing/server_world.h"

namespace rubato::policy::reconstructed {
namespace {

using planning::Booking;
using planning::TimeWindow;

constexpr planning::CrewRules kRules = {.together = planning::together_cheapest,
                                        .apart = planning::apart_by_host};

/// The worked case of A_online: two sites of two workers and a server, three jobs.
class AOnlineCase {
 public:
  // Where each job of the batch runs.
  std::map<JobId, Booking> schedule(std::vector<BatchJob> batch, int start, int length) {
    const BatchBases bases = bases_of(batch);
    ServerWorld fresh(kSites);
    std::optional<Booking> quoted;
    std::map<JobId, Booking> taken;
    schedule_batch(std::move(batch), at_seconds(start), from_seconds(length),
                   {.quote = [&](JobId job, TimeWindow window) -> std::optional<double> {
                      quoted = planning::best_window(
                          fresh.search(jobs_.at(job), static_cast<int>(to_seconds(window.from)),
                                       static_cast<int>(to_seconds(window.to)),
                                       {.workers = planning::from_zero(bases.workers),
                                        .servers = planning::from_zero(bases.servers)},
                                       kRules));
                      return quoted ? std::optional(quoted->posting.cost) : std::nullopt;
                    },
                    .accept =
                        [&](JobId job) {
                          fresh.commit(*quoted);
                          taken.emplace(job, *quoted);
                        }});
    return taken;
  }

  static BatchJob a() {
    return {.job = JobId{1}, .weight = 6, .worker_slots = 2, .server_slots = 1};
  }
  static BatchJob b() {
    return {.job = JobId{2}, .weight = 4, .worker_slots = 4, .server_slots = 2};
  }
  static BatchJob c() {
    return {.job = JobId{3}, .weight = 2, .worker_slots = 3, .server_slots = 2};
  }

 private:
  static inline const planning::SiteCapacities kSites = {{2, 1}, {2, 1}};
  std::map<JobId, ServerJob> jobs_ = {
      {JobId{1}, {.chunks = 2}}, {JobId{2}, {.epochs = 2, .chunks = 2}}, {JobId{3}, {.chunks = 3}}};
};

void expect_run(const Booking& booking, int from, int to, std::vector<planning::SiteCount> sites) {
  EXPECT_EQ(first_slot(booking), from);
  EXPECT_EQ(end_slot(booking), to);
  EXPECT_EQ(booking.posting.workers, sites);
}

TEST(DualBatch, HasTheConstantsOfTheWorkedCase) {
  const std::vector<BatchJob> jobs = {AOnlineCase::a(), AOnlineCase::b(), AOnlineCase::c()};
  const BatchBases bases = bases_of(jobs);

  EXPECT_DOUBLE_EQ(bases.workers, 4);
  EXPECT_DOUBLE_EQ(bases.servers, 7);
  EXPECT_NEAR(gamma_of(bases), 5.6147, 1e-4);
  EXPECT_EQ(windows_of(jobs, gamma_of(bases)), 10);
}

TEST(DualBatch, SchedulesTheWorkedCaseInDoublingBatches) {
  AOnlineCase world;
  double weighted = 0;

  // At 1 only A fits into a window of one slot; the others would take further windows, but wait.
  const auto first = world.schedule({AOnlineCase::a()}, 1, 1);
  ASSERT_EQ(first.size(), 1U);
  expect_run(first.at(JobId{1}), 1, 2, {{0, 2}});
  const auto second = world.schedule({AOnlineCase::b(), AOnlineCase::c()}, 2, 2);
  ASSERT_EQ(second.size(), 2U);
  expect_run(second.at(JobId{2}), 2, 4, {{0, 2}});
  expect_run(second.at(JobId{3}), 2, 4, {{1, 2}});

  weighted += 6 * end_slot(first.at(JobId{1})) + 4 * end_slot(second.at(JobId{2})) +
              2 * end_slot(second.at(JobId{3}));
  EXPECT_EQ(weighted, 36);
}

TEST(DualBatch, TakesOnlyWhatFitsIntoTheWindow) {
  const auto taken =
      AOnlineCase{}.schedule({AOnlineCase::a(), AOnlineCase::b(), AOnlineCase::c()}, 1, 1);

  EXPECT_EQ(taken.size(), 1U);
  EXPECT_TRUE(taken.contains(JobId{1}));
}

TEST(DualBatch, SchedulesTheWorkedCaseInOneWindow) {
  const auto taken =
      AOnlineCase{}.schedule({AOnlineCase::a(), AOnlineCase::b(), AOnlineCase::c()}, 0, 4);

  ASSERT_EQ(taken.size(), 3U);
  expect_run(taken.at(JobId{1}), 0, 1, {{0, 2}});
  expect_run(taken.at(JobId{2}), 0, 2, {{1, 2}});
  expect_run(taken.at(JobId{3}), 1, 3, {{0, 2}});
}

TEST(DualBatch, ReturnsWhoCostsMoreThanHeWeighs) {
  const auto left = schedule_batch({{.job = JobId{7}, .weight = 3}}, at_seconds(0), from_seconds(1),
                                   {.quote = [](JobId, TimeWindow) { return std::optional(3.0); },
                                    .accept = [](JobId) { FAIL(); }});

  EXPECT_EQ(left, (std::vector<JobId>{JobId{7}}));
}

TEST(DualBatch, UsesLaterWindowsForTheRest) {
  std::vector<double> starts;
  std::map<JobId, int> asked;
  schedule_batch({{.job = JobId{1}, .weight = 10}, {.job = JobId{2}}, {.job = JobId{3}}},
                 at_seconds(10), from_seconds(4),
                 {.quote = [&](JobId job, TimeWindow window) -> std::optional<double> {
                    const bool is_turn = ++asked[job] == static_cast<int>(job.value);
                    if (is_turn) {
                      starts.push_back(to_seconds(window.from));
                    }
                    return is_turn ? std::optional(0.0) : std::nullopt;
                  },
                  .accept = [](JobId) {}});

  EXPECT_EQ(starts, (std::vector<double>{10, 14, 18}));
}

TEST(DoublingClock, DoublesUntilItsLimitAndStartsAnew) {
  constexpr Duration kSlot = std::chrono::seconds(1);
  DoublingClock clock(4);
  EXPECT_EQ(clock.next(), kNever);

  clock.arrive(at_seconds(0), kSlot);
  std::vector<double> due;
  for (int i = 0; i < 5; ++i) {
    due.push_back(to_seconds(clock.next()));
    clock.advance(clock.next(), kSlot);
  }
  EXPECT_EQ(due, (std::vector<double>{1, 2, 4, 8, 12}));
  clock.arrive(at_seconds(13), kSlot);
  EXPECT_EQ(clock.next(), at_seconds(16));
  clock.stop();
  clock.arrive(at_seconds(20), kSlot);
  EXPECT_EQ(clock.next(), at_seconds(21));
  EXPECT_EQ(clock.length(), 1);
}

}  // namespace
}  // namespace rubato::policy::reconstructed
