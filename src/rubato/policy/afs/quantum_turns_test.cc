#include "rubato/policy/afs/quantum_turns.h"

#include <array>

#include <gtest/gtest.h>

namespace rubato::policy::afs {
namespace {

using rounds::Seat;

constexpr std::array<ScalingPoint, 2> kSteps = {ScalingPoint{1, 1}, ScalingPoint{2, 2}};

/// Jobs 1, 2, ... that arrived in this order and take one GPU at a time.
class Queue {
 public:
  explicit Queue(int jobs) : states_(static_cast<std::size_t>(jobs)) {
    for (std::size_t i = 0; i < states_.size(); ++i) {
      states_[i].job.id = JobId{i + 1};
      states_[i].job.arrival = at_seconds(0.001 * static_cast<double>(i));
      seats_.push_back(Seat{.job = &states_[i]});
    }
    for (Seat& seat : seats_) {
      pointers_.push_back(&seat);
    }
  }

  [[nodiscard]] std::span<Seat* const> seats() const { return pointers_; }

  /// The jobs that get a GPU.
  std::vector<std::uint64_t> serve(QuantumTurns& turns, double now, int gpus) {
    std::vector<Sharer> sharers(seats_.size(), Sharer{.steps = kSteps, .work = 1});
    turns.share(at_seconds(now), gpus, pointers_, sharers);
    std::vector<std::uint64_t> served;
    for (std::size_t i = 0; i < sharers.size(); ++i) {
      if (sharers[i].taken > 0) {
        EXPECT_EQ(sharers[i].now().workers, 1);
        states_[i].first_start = std::min(states_[i].first_start, at_seconds(now));
        served.push_back(i + 1);
      }
    }
    return served;
  }

 private:
  std::vector<JobState> states_;
  std::vector<Seat> seats_;
  std::vector<Seat*> pointers_;
};

using Served = std::vector<std::uint64_t>;

TEST(QuantumTurns, GoRoundInOrderOfWaiting) {
  QuantumTurns turns({.quantum = from_seconds(10)});
  Queue queue(5);

  EXPECT_EQ(queue.serve(turns, 0, 2), (Served{1, 2}));
  EXPECT_EQ(queue.serve(turns, 9, 2), (Served{1, 2}));
  EXPECT_EQ(queue.serve(turns, 10, 2), (Served{3, 4}));
  EXPECT_EQ(queue.serve(turns, 20, 2), (Served{1, 5}));
  EXPECT_EQ(queue.serve(turns, 30, 2), (Served{2, 3}));
  EXPECT_EQ(turns.next_end(), at_seconds(40));
}

TEST(QuantumTurns, GoToWhoHadFewest) {
  QuantumTurns turns({.quantum = from_seconds(10), .fewest_turns_first = true});
  Queue queue(3);

  EXPECT_EQ(queue.serve(turns, 0, 2), (Served{1, 2}));
  EXPECT_EQ(queue.serve(turns, 10, 2), (Served{1, 3}));
  EXPECT_EQ(turns.turns(JobId{1}), 1);
  EXPECT_EQ(queue.serve(turns, 20, 2), (Served{2, 3}));
}

TEST(QuantumTurns, DoNotCountAgainstWhoLostItsGpus) {
  QuantumTurns turns({.quantum = from_seconds(10)});
  Queue queue(3);

  EXPECT_EQ(queue.serve(turns, 0, 2), (Served{1, 2}));
  EXPECT_EQ(queue.serve(turns, 5, 1), (Served{1}));
  EXPECT_EQ(queue.serve(turns, 10, 1), (Served{2}));
  EXPECT_EQ(turns.turns(JobId{1}), 1);
  EXPECT_EQ(turns.turns(JobId{2}), 0);
}

TEST(QuantumTurns, EndWhenThereIsRoomForEveryone) {
  QuantumTurns turns({.quantum = from_seconds(10)});
  Queue queue(3);
  queue.serve(turns, 0, 2);

  turns.release(queue.seats());

  EXPECT_EQ(turns.next_end(), kNever);
}

TEST(QuantumTurns, AreSavedExactly) {
  QuantumTurns turns({.quantum = from_seconds(10)});
  Queue queue(3);
  queue.serve(turns, 0, 2);
  queue.serve(turns, 10, 2);
  std::string state;
  turns.append_to(state);

  QuantumTurns loaded({.quantum = from_seconds(10)});
  const auto lines = read_lines(state).value();
  for (const SavedLine& line : lines) {
    ASSERT_TRUE(loaded.restore(line));
  }

  std::string again;
  loaded.append_to(again);
  EXPECT_EQ(again, state);
  EXPECT_FALSE(loaded.restore(SavedLine{.word = "turn", .numbers = {1}}));
}

}  // namespace
}  // namespace rubato::policy::afs
