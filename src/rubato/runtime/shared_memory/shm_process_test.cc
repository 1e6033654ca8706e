#include <algorithm>
#include <csignal>
#include <cstring>

#include "rubato/runtime/shared_memory/shm_communicator.h"
#include "rubato/runtime/shared_memory/shm_crew_test.h"

namespace rubato {
namespace {

constexpr int kEnough = 0;
constexpr int kWrong = 1;
constexpr int kBrokenOff = 2;

/// What a rank does that maps everything anew, as a process of its own program would.
std::unique_ptr<Communicator> join_afresh(const ShmCrew& crew, int rank) {
  ShmGroup group = crew.group(rank);
  for (std::size_t other = 0; other < group.arenas.size(); ++other) {
    if (static_cast<int>(other) != rank) {
      group.arenas[other] = std::make_shared<Arena>(*Arena::map(group.arenas[other]->descriptor()));
    }
  }
  return *join_shm_group(std::move(group));
}

TEST(ShmProcesses, ReduceManyStepsInARow) {
  for (const int size : {1, 2, 3, 5}) {
    ShmCrew crew(size, {.floats = 3000, .slots = 8});
    const ShardScene scene = ShardScene::random(7, 3000, 5);
    const std::vector<ShardPlace> places = scene.dealt_to(size);

    const std::vector<int> ends = as_processes(size, [&](int rank) {
      const auto self = join_afresh(crew, rank);
      ReduceReport report;
      for (int step = 0; step < 200; ++step) {
        scene.fill(places, rank, crew.arena(rank));
        const double note = step * size + rank;
        if (!self->reduce({.places = places,
                           .weights = scene.weights,
                           .floats = 3000,
                           .wants_squares = step % 2 == 0,
                           .note = {&note, 1}},
                          report)
                 .ok()) {
          return kBrokenOff;
        }
        const auto sum = crew.arena(rank).slot(0);
        if (!scene.is_sum(sum) || (step % 2 == 0 && !scene.has_squares(report, sum)) ||
            report.notes[static_cast<std::size_t>(size - 1) * kNoteLength] !=
                step * size + size - 1) {
          return kWrong;
        }
      }
      return kEnough;
    });

    EXPECT_EQ(ends, std::vector<int>(static_cast<std::size_t>(size), kEnough));
    for (int rank = 1; rank < size; ++rank) {
      EXPECT_EQ(std::memcmp(crew.arena(rank).slot(0).data(), crew.arena(0).slot(0).data(),
                            3000 * sizeof(float)),
                0);
    }
  }
}

TEST(ShmProcesses, BroadcastToEachOther) {
  ShmCrew crew(3, {.parameter_bytes = 3'000'000});
  const std::vector<int> ends = as_processes(3, [&](int rank) {
    const auto self = join_afresh(crew, rank);
    std::vector<std::byte> own(2'500'000);
    for (int source = 0; source < 3; ++source) {
      const auto mark = static_cast<std::byte>(source + 5);
      if (rank == source) {
        std::ranges::fill(own, mark);
        std::ranges::fill(crew.arena(rank).parameters(), mark);
      }
      if (!self->broadcast(own, source).ok() ||
          !self->broadcast(crew.arena(rank).parameters(), source).ok()) {
        return kBrokenOff;
      }
      const auto is_mark = [mark](std::byte value) { return value == mark; };
      if (!std::ranges::all_of(own, is_mark) ||
          !std::ranges::all_of(crew.arena(rank).parameters(), is_mark)) {
        return kWrong;
      }
    }
    return kEnough;
  });
  EXPECT_EQ(ends, std::vector<int>(3, kEnough));
}

TEST(ShmProcesses, MayChangeWhatTheySentAsSoonAsTheCallReturns) {
  ShmCrew crew(2, {.parameter_bytes = 1'000'000});
  const std::vector<int> ends = as_processes(2, [&](int rank) {
    const auto self = join_afresh(crew, rank);
    const std::span<std::byte> bytes = crew.arena(rank).parameters();
    for (int round = 0; round < 100; ++round) {
      const auto mark = static_cast<std::byte>(round);
      if (rank == 0) {
        std::ranges::fill(bytes, mark);
      }
      if (!self->broadcast(bytes, 0).ok()) {
        return kBrokenOff;
      }
      if (!std::ranges::all_of(bytes, [mark](std::byte value) { return value == mark; })) {
        return kWrong;
      }
    }
    return kEnough;
  });
  EXPECT_EQ(ends, std::vector<int>(2, kEnough));
}

/// Steps of a group of processes, counted where the test can see them.
struct StepCounts {
  std::atomic<int> done = 0;
};

/// Takes steps until a call fails.
int step_until_broken(const ShmCrew& crew, int rank, bool by_broadcast, StepCounts& counts) {
  const auto self = join_afresh(crew, rank);
  const std::vector<ShardPlace> places{{.rank = 0}, {.rank = 1}, {.rank = 2}};
  const std::vector<float> weights{1, 1, 1};
  std::vector<std::byte> bytes(3'000'000);
  ReduceReport report;
  for (;;) {
    const Status status =
        by_broadcast
            ? self->broadcast(bytes, 0)
            : self->reduce({.places = places, .weights = weights, .floats = 100'000}, report);
    if (!status) {
      return kBrokenOff;
    }
    ++counts.done;
  }
}

TEST(ShmProcesses, AreFreedByASurvivorWhenOneIsKilledInTheMiddle) {
  for (int round = 0; round < 20; ++round) {
    ShmCrew crew(3, {.floats = 100'000});
    SharedValue<StepCounts> counts;
    std::vector<pid_t> children;
    for (int rank = 0; rank < 3; ++rank) {
      children.push_back(start_process([&crew, &counts, rank, round] {
        return step_until_broken(crew, rank, round % 2 == 1, *counts);
      }));
    }
    while (counts->done < 10 + round) {
      std::this_thread::yield();
    }
    const auto victim = static_cast<std::size_t>(round % 3);
    kill(children[victim], SIGKILL);
    EXPECT_EQ(end_of(children[victim]), -SIGKILL);

    // Any object of the group will do; this one belongs to no rank that is at work.
    crew.join(static_cast<int>((victim + 1) % 3))->abort();

    for (std::size_t rank = 0; rank < 3; ++rank) {
      if (rank != victim) {
        EXPECT_EQ(end_of(children[rank]), kBrokenOff);
      }
    }
  }
}

}  // namespace
}  // namespace rubato
