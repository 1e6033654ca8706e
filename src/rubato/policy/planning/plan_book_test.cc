#include "rubato/policy/planning/plan_book.h"

#include <gtest/gtest.h>

#include "rubato/policy/baseline/fifo.h"
#include "rubato/policy/testing/policy_scene.h"
#include "rubato/policy/testing/timeline_test.h"

namespace rubato::policy::planning {
namespace {

constexpr PoolId kPool{0};

BookedPlan on_nodes(double from, double to, std::vector<NodeShare> nodes) {
  int workers = 0;
  for (const NodeShare& each : nodes) {
    workers += each.workers;
  }
  return {.pool = kPool,
          .segments = {{.window = between(from, to), .workers = workers, .nodes = nodes}}};
}

BookedPlan in_pool(double from, double to, int workers) {
  return {.pool = kPool, .segments = {{.window = between(from, to), .workers = workers}}};
}

/// Two nodes of four GPUs and jobs 1 to 3; job 1 runs.
class World {
 public:
  World() {
    scene_.submit({linear_job(1, 0, 4, 100), linear_job(2, 0, 8, 100), linear_job(3, 0, 8, 100)});
    scene_.run_until(0);
  }
  View view() { return scene_.view(); }

 private:
  Scene scene_{[] { return baseline::make_fifo(PolicyOptions{}); }, {.cluster = "2x4"}};
};

TEST(PlanBook, ReservesWhatAPlanNeedsAndGivesItBack) {
  World world;
  PlanBook book(SiteKind::Nodes);
  book.open(world.view());

  book.set(JobId{1}, on_nodes(0, 10, {{NodeId{0}, 1}, {NodeId{1}, 3}}), at_seconds(0));
  EXPECT_EQ(book.calendar(kPool).free(1, 0, between(5, 6)), 1);
  book.set(JobId{1}, on_nodes(20, 30, {{NodeId{1}, 4}}), at_seconds(0));
  EXPECT_EQ(book.calendar(kPool).free(1, 0, between(5, 6)), 4);
  EXPECT_EQ(book.calendar(kPool).free(1, 0, between(20, 21)), 0);
  EXPECT_EQ(book.next_edge(at_seconds(0)), at_seconds(20));
  EXPECT_EQ(book.next_edge(at_seconds(20)), at_seconds(30));
  book.drop(JobId{1}, at_seconds(25));

  EXPECT_EQ(book.calendar(kPool).free(1, 0, between(25, 30)), 4);
  EXPECT_EQ(book.next_edge(at_seconds(0)), kNever);
  EXPECT_EQ(book.take_changed(), (std::set<JobId>{JobId{1}}));
  EXPECT_TRUE(book.take_changed().empty());
}

TEST(PlanBook, ExtendsAPlanOnlyWhereThereIsRoom) {
  World world;
  PlanBook book(SiteKind::Pools);
  book.open(world.view());
  book.set(JobId{1}, in_pool(0, 10, 5), at_seconds(0));
  book.set(JobId{2}, in_pool(12, 20, 4), at_seconds(0));

  EXPECT_FALSE(book.extend(JobId{1}, at_seconds(13), at_seconds(10)));
  EXPECT_TRUE(book.extend(JobId{1}, at_seconds(12), at_seconds(10)));

  EXPECT_EQ(book.find(JobId{1})->finish(), at_seconds(12));
  EXPECT_EQ(book.calendar(kPool).free(0, 0, between(10, 12)), 3);
}

TEST(PlanBook, HandsBackOnlyPlansThatALostNodeLeavesUncovered) {
  World world;
  PlanBook book(SiteKind::Nodes);
  book.open(world.view());
  book.set(JobId{1}, on_nodes(0, 10, {{NodeId{0}, 4}}), at_seconds(0));
  book.set(JobId{2}, on_nodes(0, 10, {{NodeId{1}, 4}}), at_seconds(0));
  book.set(JobId{3}, on_nodes(50, 60, {{NodeId{0}, 1}, {NodeId{1}, 1}}), at_seconds(0));

  const auto hit = book.change_node({.node = NodeId{1}, .up = false}, world.view());

  EXPECT_EQ(hit, (std::vector<JobId>{JobId{2}, JobId{3}}));
  EXPECT_NE(book.find(JobId{1}), nullptr);
  EXPECT_EQ(book.calendar(kPool).free(1, 0, between(100, 101)), 0);
  EXPECT_TRUE(book.change_node({.node = NodeId{1}, .up = true}, world.view()).empty());
  EXPECT_EQ(book.calendar(kPool).free(1, 0, between(100, 101)), 4);
}

TEST(PlanBook, TakesPlansOfThoseWithoutWorkersFirstThenTheNewest) {
  World world;
  PlanBook book(SiteKind::Pools);
  book.open(world.view());
  for (const std::uint64_t id : {1U, 2U, 3U}) {
    book.set(JobId{id}, in_pool(0, 10, 2), at_seconds(0));
  }

  EXPECT_EQ(book.change_node({.node = NodeId{1}, .up = false}, world.view()),
            (std::vector<JobId>{JobId{3}}));
}

TEST(PlanBook, ComesBackFromTextAsItWas) {
  World world;
  PlanBook book(SiteKind::Nodes);
  book.open(world.view());
  static_cast<void>(book.change_node({.node = NodeId{1}, .up = false}, world.view()));
  book.set(JobId{2}, on_nodes(3, 9, {{NodeId{0}, 2}}), at_seconds(0));
  std::string text;
  book.save(text);

  PlanBook loaded(SiteKind::Nodes);
  for (const SavedLine& line : read_lines(text).value()) {
    ASSERT_TRUE(loaded.restore(line)) << line.word;
  }
  loaded.open(world.view());

  std::string again;
  loaded.save(again);
  EXPECT_EQ(again, text);
  EXPECT_EQ(loaded.calendar(kPool).free(0, 0, between(4, 5)), 2);
  EXPECT_EQ(loaded.calendar(kPool).free(1, 0, between(4, 5)), 0);
  EXPECT_FALSE(loaded.restore(SavedLine{.word = "plan", .numbers = {1}}));
  EXPECT_FALSE(PlanBook(SiteKind::Nodes).restore(SavedLine{.word = "on", .numbers = {1, 1}}));
}

}  // namespace
}  // namespace rubato::policy::planning
