#include "rubato/live/journal/group_commit.h"

#include <map>
#include <memory>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rubato {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr auto kForEver = steady_clock::time_point::max();
constexpr auto kAtOnce = steady_clock::time_point{};

TEST(CommitQueue, HandsOverAllThatWaitsInOrder) {
  CommitQueue<int> queue;
  for (int i = 1; i <= 3; ++i) {
    ASSERT_EQ(queue.post(std::move(i)), Posted::Accepted);
  }

  EXPECT_THAT(queue.take_batch(kForEver), ElementsAre(1, 2, 3));
  EXPECT_THAT(queue.take_batch(kAtOnce), IsEmpty());
}

TEST(CommitQueue, BoundsTheBatch) {
  CommitQueue<int> queue({.batch_max = 2});
  for (const int i : {1, 2, 3}) {
    ASSERT_EQ(queue.post(int{i}), Posted::Accepted);
  }

  EXPECT_THAT(queue.take_batch(kForEver), ElementsAre(1, 2));
  EXPECT_THAT(queue.take_batch(kForEver), ElementsAre(3));
}

TEST(CommitQueue, RefusesWhatIsTooMuchAndLeavesItToTheCaller) {
  CommitQueue<std::unique_ptr<int>> queue({.waiting_max = 1, .reserved = 1});
  using Kind = CommitQueue<std::unique_ptr<int>>::Kind;
  auto second = std::make_unique<int>(2);
  auto third = std::make_unique<int>(3);

  EXPECT_EQ(queue.post(std::make_unique<int>(1)), Posted::Accepted);
  EXPECT_EQ(queue.post(std::move(second)), Posted::Full);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(queue.post(std::move(second), Kind::Reserved), Posted::Accepted);
  EXPECT_EQ(queue.post(std::move(third), Kind::Reserved), Posted::Full);
  EXPECT_EQ(queue.waiting(), 2U);

  EXPECT_EQ(queue.take_batch(kForEver).size(), 2U);
  EXPECT_EQ(queue.post(std::move(third)), Posted::Accepted);
}

TEST(CommitQueue, ReturnsNothingAtTheDeadlineAndNotBefore) {
  CommitQueue<int> queue;
  const auto deadline = steady_clock::now() + milliseconds(20);

  EXPECT_THAT(queue.take_batch(deadline), IsEmpty());

  EXPECT_GE(steady_clock::now(), deadline);
}

TEST(CommitQueue, GivesWhatWaitedAfterItIsClosedAndTakesNoMore) {
  CommitQueue<int> queue({.batch_max = 1});
  ASSERT_EQ(queue.post(1), Posted::Accepted);
  ASSERT_EQ(queue.post(2), Posted::Accepted);

  queue.close();

  EXPECT_EQ(queue.post(3), Posted::Closed);
  EXPECT_TRUE(queue.is_closed());
  EXPECT_THAT(queue.take_batch(kForEver), ElementsAre(1));
  EXPECT_THAT(queue.take_batch(kForEver), ElementsAre(2));
  EXPECT_THAT(queue.take_batch(kForEver), IsEmpty());
}

TEST(CommitQueue, WakesALoopThatWaitsWithoutADeadline) {
  CommitQueue<int> queue;
  std::vector<int> taken;
  std::jthread loop([&] {
    while (!queue.is_closed() || queue.waiting() > 0) {
      for (const int request : queue.take_batch(kForEver)) {
        taken.push_back(request);
      }
    }
  });

  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(queue.post(int{i}), Posted::Accepted);
  }
  queue.close();
  loop.join();

  EXPECT_EQ(taken.size(), 100U);
  EXPECT_TRUE(std::ranges::is_sorted(taken));
}

TEST(CommitQueue, LosesAndReordersNothingOfManyThreads) {
  constexpr int kThreads = 4;
  constexpr int kEach = 2'000;
  struct Numbered {
    int thread = 0;
    int number = 0;
  };
  CommitQueue<Numbered> queue({.waiting_max = 50, .batch_max = 7});
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&queue, thread] {
      for (int number = 0; number < kEach; ++number) {
        while (queue.post({.thread = thread, .number = number}) == Posted::Full) {
          std::this_thread::yield();
        }
      }
    });
  }

  std::map<int, int> next;
  for (int taken = 0; taken < kThreads * kEach;) {
    const auto batch = queue.take_batch(kForEver);
    ASSERT_LE(batch.size(), 7U);
    for (const Numbered& request : batch) {
      ASSERT_EQ(request.number, next[request.thread]++);
      ++taken;
    }
  }

  EXPECT_EQ(queue.waiting(), 0U);
}

TEST(AppendUntilDurable, AppendsTheSameBatchAgainAfterLongerAndLongerPauses) {
  std::vector<JournalItem> batch(2);
  int attempts = 0;
  std::vector<milliseconds> pauses;

  const Status status = append_until_durable(
      [&](std::span<JournalItem> entries) -> Status {
        EXPECT_EQ(entries.data(), batch.data());
        EXPECT_EQ(entries.size(), 2U);
        return ++attempts < 5 ? Status(bad_input("full")) : ok_status();
      },
      batch,
      [&](const Error& error, milliseconds pause) {
        EXPECT_EQ(error.message, "full");
        pauses.push_back(pause);
        return true;
      },
      {.first = milliseconds(10), .longest = milliseconds(35)});

  EXPECT_TRUE(status.ok());
  EXPECT_THAT(pauses,
              ElementsAre(milliseconds(10), milliseconds(20), milliseconds(35), milliseconds(35)));
}

TEST(AppendUntilDurable, ReturnsTheErrorWhenToldToStop) {
  std::vector<JournalItem> batch(1);

  const Status status =
      append_until_durable([](std::span<JournalItem>) { return Status(bad_input("full")); }, batch,
                           [](const Error&, milliseconds) { return false; });

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "full");
}

}  // namespace
}  // namespace rubato
