#include "rubato/live/controller/slot_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/base/random.h"

namespace rubato {
namespace {

constexpr JobId kFirst{1};
constexpr JobId kSecond{2};

std::vector<NodeShare> on_nodes(std::vector<int> workers) {
  std::vector<NodeShare> shares;
  for (std::size_t node = 0; node < workers.size(); ++node) {
    shares.push_back({.node = NodeId{node}, .workers = workers[node]});
  }
  return shares;
}

TEST(SlotBook, GivesFreeSlotsAtOnce) {
  SlotBook book({4});
  book.want(kFirst, on_nodes({3}));
  const auto order = book.order(kFirst);
  ASSERT_TRUE(order);
  EXPECT_EQ(order->size(), 3U);
  EXPECT_FALSE(book.order(kFirst)) << "nothing changed since";
}

TEST(SlotBook, GrantsASlotAgainOnlyWhenItWasGivenBack) {
  SlotBook book({4});
  book.want(kFirst, on_nodes({4}));
  ASSERT_TRUE(book.order(kFirst));
  book.want(kFirst, on_nodes({1}));
  book.want(kSecond, on_nodes({3}));
  const auto shrunk = book.order(kFirst);
  ASSERT_TRUE(shrunk);
  EXPECT_EQ(shrunk->size(), 1U);
  EXPECT_FALSE(book.order(kSecond)) << "the first has not let go yet";
  EXPECT_THAT(book.waiting(), testing::ElementsAre(kSecond));

  book.hold(kFirst, *shrunk);
  const auto granted = book.order(kSecond);
  ASSERT_TRUE(granted);
  EXPECT_EQ(granted->size(), 3U);
}

TEST(SlotBook, TwoJobsThatChangePlacesDoNotWaitForEachOther) {
  SlotBook book({1, 1});
  book.want(kFirst, on_nodes({1, 0}));
  book.want(kSecond, on_nodes({0, 1}));
  ASSERT_TRUE(book.order(kFirst));
  ASSERT_TRUE(book.order(kSecond));

  book.want(kFirst, on_nodes({0, 1}));
  book.want(kSecond, on_nodes({1, 0}));
  const auto first = book.order(kFirst);
  const auto second = book.order(kSecond);
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(first->empty()) << "it lets go before it waits";
  EXPECT_TRUE(second->empty());
  book.release(kFirst);
  book.release(kSecond);
  EXPECT_EQ(book.order(kFirst)->begin()->node, NodeId{1});
  EXPECT_EQ(book.order(kSecond)->begin()->node, NodeId{0});
}

TEST(SlotBook, AnOldReportFreesNothingThatWasOrderedSince) {
  SlotBook book({4});
  book.want(kFirst, on_nodes({2}));
  const auto small = book.order(kFirst);
  book.want(kFirst, on_nodes({4}));
  const auto large = book.order(kFirst);
  book.hold(kFirst, *small);
  EXPECT_EQ(book.owned(kFirst), *large);
}

// Jobs that obey late and in any order: no slot ever has two users, and nobody waits for ever.
TEST(SlotBook, NoSlotIsEverUsedByTwoJobs) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Random random(seed);
    const std::vector<int> sizes{2, 3, 1};
    SlotBook book(sizes);
    std::map<JobId, SlotSet> used;
    std::map<JobId, std::vector<SlotSet>> orders;  // Not yet carried out.
    const auto obey = [&](JobId job) {
      const SlotSet next = orders[job].back();
      orders[job].clear();
      used[job] = next;
      if (next.empty()) {
        book.release(job);
      } else {
        book.hold(job, next);
      }
    };
    const auto check = [&] {
      std::map<SlotRef, JobId> users;
      for (const auto& [job, slots] : used) {
        SlotSet busy = slots;
        // What it is about to take may be in use at any moment.
        for (const SlotSet& order : orders[job]) {
          busy.insert(order.begin(), order.end());
        }
        for (const SlotRef& slot : busy) {
          ASSERT_TRUE(users.emplace(slot, job).second)
              << "seed " << seed << ": slot " << slot.node.value << "/" << slot.index;
        }
      }
    };
    const auto give_orders = [&] {
      for (const JobId job : book.waiting()) {
        if (const auto order = book.order(job)) {
          orders[job].push_back(*order);
          used[job];
        }
      }
    };
    for (int round = 0; round < 30; ++round) {
      std::vector<int> left = sizes;
      for (std::uint64_t id = 1; id <= 4; ++id) {
        std::vector<int> wanted;
        for (int& room : left) {
          const auto workers = static_cast<int>(random.integer(0, room));
          room -= workers;
          wanted.push_back(workers);
        }
        book.want(JobId{id}, on_nodes(wanted));
      }
      give_orders();
      check();
      for (std::uint64_t id = 1; id <= 4; ++id) {
        if (!orders[JobId{id}].empty() && random.chance(0.5)) {
          obey(JobId{id});
          give_orders();
          check();
        }
      }
    }
    for (int turn = 0; turn < 20; ++turn) {
      for (std::uint64_t id = 1; id <= 4; ++id) {
        if (!orders[JobId{id}].empty()) {
          obey(JobId{id});
        }
      }
      give_orders();
    }
    EXPECT_THAT(book.waiting(), testing::IsEmpty()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace rubato
