// What is measured: one way to sum a vector over processes of this host.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "rubato/runtime/communicator.h"

namespace rubato {

/// One process's end of one way to all-reduce.
class Contender {
 public:
  Contender() = default;
  Contender(const Contender&) = delete;
  Contender& operator=(const Contender&) = delete;
  virtual ~Contender() = default;

  [[nodiscard]] virtual std::string name() const = 0;
  /// Sums so many floats over all processes; false if that failed.
  [[nodiscard]] virtual bool all_reduce(std::size_t floats) = 0;
};

/// Where the processes of one measurement find each other.
struct BenchCrew {
  std::string directory{};
  int rank = 0;
  int size = 1;
  std::size_t floats_max = 0;
};

/// Ours, and the group itself, which also keeps the processes in step.
struct OwnContender {
  std::unique_ptr<Communicator> group{};
  std::unique_ptr<Contender> contender{};
};

[[nodiscard]] OwnContender make_own_contender(const BenchCrew& crew);
/// c10d's gloo over loopback, called as DistributedDataParallel calls it.
[[nodiscard]] std::unique_ptr<Contender> make_gloo_contender(const BenchCrew& crew);
/// Our group over TCP, as if each process had a host of its own; it calls the same gloo.
[[nodiscard]] std::unique_ptr<Contender> make_tcp_contender(const BenchCrew& crew);
/// OpenMPI. Starts it; must come first, and leaves rank and size in the crew.
[[nodiscard]] std::unique_ptr<Contender> make_mpi_contender(BenchCrew& crew);

}  // namespace rubato
