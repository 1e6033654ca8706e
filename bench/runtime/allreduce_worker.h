// One process of the all-reduce benchmark.
#pragma once

#include <array>
#include <cstddef>
#include <string>

namespace rubato {

/// Sizes that are measured, in bytes.
constexpr std::array<std::size_t, 5> kAllReduceBytes{4096, 65536, 1048576, 16777216, 67108864};

/// How a process takes part.
struct AllReduceWorker {
  std::string directory{};  // Rank 0 leaves its figures there, in results.json.
  int rank = 0;             // Given by MPI if that started us.
  int size = 1;
  int rounds = 9;
  bool has_mpi = false;
};

/// Measures all contenders in turn; the exit code.
[[nodiscard]] int run_allreduce_worker(const AllReduceWorker& worker);

}  // namespace rubato
