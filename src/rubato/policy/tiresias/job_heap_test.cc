#include "rubato/policy/tiresias/job_heap.h"

#include <cstdint>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "rubato/base/random.h"

namespace rubato::policy::tiresias {
namespace {

Instant at(int seconds) { return Instant{std::chrono::seconds{seconds}}; }

TEST(JobHeap, GivesTheEarliestAndOfEqualsTheLowestJob) {
  JobHeap heap;
  const auto all_hold = [](const JobHeap::Entry&) { return true; };
  for (const auto& [seconds, id] : {std::pair(7, 1U), std::pair(5, 3U), std::pair(5, 2U)}) {
    heap.add({at(seconds), JobId{id}}, 3, all_hold);
  }

  EXPECT_EQ(*heap.first(all_hold), JobHeap::Entry(at(5), JobId{2}));
  heap.drop_first();
  EXPECT_EQ(*heap.first(all_hold), JobHeap::Entry(at(5), JobId{3}));
}

TEST(JobHeap, HasNoFirstIfNothingHolds) {
  JobHeap heap;
  heap.add({at(1), JobId{1}}, 1, [](const JobHeap::Entry&) { return true; });

  EXPECT_EQ(heap.first([](const JobHeap::Entry&) { return false; }), nullptr);
}

// Few jobs whose moments change often, so that most entries are void and sweeps are many.
TEST(JobHeap, AgreesWithASetThatForgetsAtOnce) {
  Random random(1);
  JobHeap heap;
  std::map<JobId, Instant> moments;
  std::set<JobHeap::Entry> expected;
  const auto holds = [&](const JobHeap::Entry& entry) {
    const auto found = moments.find(entry.second);
    return found != moments.end() && found->second == entry.first;
  };
  for (int turn = 0; turn < 5000; ++turn) {
    const JobId job{static_cast<std::uint64_t>(random.integer(0, 5))};
    if (const auto found = moments.find(job); found != moments.end()) {
      expected.erase({found->second, job});
      moments.erase(found);
    }
    if (random.chance(0.7)) {
      const Instant moment = at(static_cast<int>(random.integer(0, 19)));
      moments[job] = moment;
      expected.insert({moment, job});
      heap.add({moment, job}, moments.size(), holds);
    }
    if (random.chance(0.02)) {
      const JobHeap::Entry* first = heap.first(holds);
      ASSERT_EQ(first == nullptr, expected.empty()) << "turn " << turn;
      ASSERT_TRUE(first == nullptr || *first == *expected.begin()) << "turn " << turn;
    }
  }
}

}  // namespace
}  // namespace rubato::policy::tiresias
