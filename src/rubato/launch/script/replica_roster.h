// The workers of a script job by name: its leader and the replicas that it forked. Names are never
// used twice, so that a timeline tells a replaced replica from the one before it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <sys/types.h>
#include <vector>

#include "rubato/launch/launcher.h"
#include "rubato/wire/descriptor.h"

namespace rubato::launch::script {

/// Who came and who went when the replicas were last told.
struct RosterChange {
  std::vector<WorkerId> joined{};
  std::vector<WorkerId> left{};
};

/// Names, and descriptors by which replicas can be signalled.
class ReplicaRoster {
 public:
  /// A name that nobody had before.
  [[nodiscard]] WorkerId next_name() { return WorkerId{next_++}; }

  /// A new process leads; it has no replicas.
  RosterChange set_leader(WorkerId leader);
  /// The leader's replicas now, in the order of their parts. `leader` is its process: others'
  /// children are named, but never signalled.
  RosterChange set_replicas(std::span<const pid_t> pids, pid_t leader);

  /// The leader first.
  [[nodiscard]] std::vector<WorkerId> members() const;
  /// False if the process is gone, or cannot be told from others.
  [[nodiscard]] bool signal(WorkerId replica, int signal) const;

 private:
  struct Replica {
    WorkerId worker{};
    pid_t pid = 0;
    Descriptor process{};
  };

  std::uint64_t next_ = 1;
  WorkerId leader_{};
  std::vector<Replica> replicas_{};
};

}  // namespace rubato::launch::script
