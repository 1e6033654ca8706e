// Groups on one host for tests: their memory, their ranks as threads or processes, and shards
// whose sum is known.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/runtime/shared_memory/shm_communicator.h"
#include "rubato/wire/descriptor.h"

namespace rubato {

/// The memory of a group.
class ShmCrew {
 public:
  ShmCrew(int size, const ArenaLayout& layout) {
    for (int rank = 0; rank < size; ++rank) {
      arenas_.push_back(std::make_shared<Arena>(*Arena::create(layout)));
    }
    meet_anew();
  }

  [[nodiscard]] int size() const { return static_cast<int>(arenas_.size()); }
  [[nodiscard]] Arena& arena(int rank) { return *arenas_[static_cast<std::size_t>(rank)]; }

  /// The next group starts with a meeting memory that is all zero.
  void meet_anew() {
    meeting_ = Descriptor{memfd_create("test-meeting", MFD_CLOEXEC)};
    ASSERT_EQ(ftruncate(meeting_.get(), static_cast<off_t>(kMeetingBytes)), 0);
  }

  [[nodiscard]] ShmGroup group(int rank) const {
    return {.rank = rank, .meeting = meeting_.get(), .arenas = arenas_, .cpus = 2};
  }

  /// Peers are mapped once more, as workers do it. The thread sanitizer knows memory by its
  /// address, and the meeting has one for each rank: so must what the meeting guards.
  [[nodiscard]] std::unique_ptr<Communicator> join(int rank) const {
    ShmGroup made = group(rank);
    for (int other = 0; other < size(); ++other) {
      auto& arena = made.arenas[static_cast<std::size_t>(other)];
      arena = other == rank ? arena : std::make_shared<Arena>(*Arena::map(arena->descriptor()));
    }
    return *join_shm_group(std::move(made));
  }

 private:
  std::vector<std::shared_ptr<Arena>> arenas_{};  // Groups share them.
  Descriptor meeting_{};
};

/// Runs one thread for each rank, and waits for all.
inline void as_threads(int size, const std::function<void(int)>& work) {
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back(work, rank);
  }
}

/// Starts a process that ends with the value of `work`.
inline pid_t start_process(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    _exit(work());
  }
  return child;
}

/// Waits for a process; its exit code, or minus the signal that ended it.
inline int end_of(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) {
    return -1000;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// Runs one process for each rank; the rank's exit codes.
inline std::vector<int> as_processes(int size, const std::function<int(int)>& work) {
  std::vector<pid_t> children;
  for (int rank = 0; rank < size; ++rank) {
    children.push_back(start_process([&work, rank] { return work(rank); }));
  }
  std::vector<int> ends;
  for (const pid_t child : children) {
    ends.push_back(end_of(child));
  }
  return ends;
}

/// Memory that a test shares with the processes it starts.
template <typename T>
class SharedValue {
 public:
  SharedValue()
      : value_(::new (mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                           -1, 0)) T{}) {}
  SharedValue(const SharedValue&) = delete;
  SharedValue& operator=(const SharedValue&) = delete;
  ~SharedValue() { munmap(value_, sizeof(T)); }

  [[nodiscard]] T& operator*() const { return *value_; }
  [[nodiscard]] T* operator->() const { return value_; }

 private:
  T* value_;
};

/// Shards of a step: the same gradients and weights however they are dealt out.
struct ShardScene {
  std::vector<std::vector<float>> shards{};
  std::vector<float> weights{};

  static ShardScene random(std::size_t shards, std::size_t floats, unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal;
    ShardScene scene{.shards = std::vector(shards, std::vector<float>(floats))};
    for (auto& shard : scene.shards) {
      const float scale = std::exp(2 * normal(generator));
      for (float& value : shard) {
        value = scale * normal(generator);
      }
      scene.weights.push_back(std::abs(normal(generator)));
    }
    return scene;
  }

  [[nodiscard]] std::size_t floats() const { return shards[0].size(); }

  /// Shard i lies on rank i modulo size, in its next free slot.
  [[nodiscard]] std::vector<ShardPlace> dealt_to(int size) const {
    std::vector<ShardPlace> places;
    for (int shard = 0; shard < static_cast<int>(shards.size()); ++shard) {
      places.push_back({.rank = shard % size, .slot = shard / size});
    }
    return places;
  }

  /// Writes the shards that lie on a rank into its arena.
  void fill(std::span<const ShardPlace> places, int rank, const Arena& arena) const {
    for (std::size_t shard = 0; shard < shards.size(); ++shard) {
      if (places[shard].rank == rank) {
        std::ranges::copy(shards[shard],
                          arena.slot(static_cast<std::size_t>(places[shard].slot)).begin());
      }
    }
  }

  /// One element of the sum in double precision, and how far a sum in single may be from it.
  [[nodiscard]] std::pair<double, double> expected(std::size_t at) const {
    double sum = 0;
    double magnitude = 0;
    for (std::size_t shard = 0; shard < shards.size(); ++shard) {
      const double term =
          static_cast<double>(weights[shard]) * static_cast<double>(shards[shard][at]);
      sum += term;
      magnitude += std::abs(term);
    }
    return {sum, 1e-6 * magnitude};
  }

  [[nodiscard]] bool is_sum(std::span<const float> found) const {
    for (std::size_t at = 0; at < floats(); ++at) {
      const auto [sum, tolerance] = expected(at);
      if (!(std::abs(static_cast<double>(found[at]) - sum) <= tolerance)) {
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] static double square_of(std::span<const float> values) {
    double square = 0;
    for (const float value : values) {
      square += static_cast<double>(value) * static_cast<double>(value);
    }
    return square;
  }

  /// True if the squares of a report are those of the shards and of the sum as found.
  [[nodiscard]] bool has_squares(const ReduceReport& report, std::span<const float> found) const {
    const auto near = [](double value, double exact) {
      return std::abs(value - exact) <= 1e-5 * exact;
    };
    for (std::size_t shard = 0; shard < shards.size(); ++shard) {
      if (!near(report.shard_squares.at(shard), square_of(shards[shard]))) {
        return false;
      }
    }
    return near(report.sum_square, square_of(found.first(floats())));
  }
};

}  // namespace rubato
