// A group over several hosts made of two kinds of groups: one on each host, and one among the
// first ranks of all hosts. Gradients cross the network once per host.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "rubato/runtime/communicator.h"
#include "rubato/runtime/shared_memory/arena.h"

namespace rubato {

/// A group that some of the ranks form.
struct GroupPart {
  std::vector<int> members{};  // Ranks of the whole group, in their order in this one.
  int rank = 0;                // Ours among the members.
  std::size_t note_length = kNoteLength;
};

using GroupFactory = std::function<Result<std::unique_ptr<Communicator>>(const GroupPart& part)>;

/// What a rank needs to join a group over several hosts.
struct HostGroups {
  int rank = 0;
  std::vector<int> hosts{};        // By rank: which host it is on, as any number.
  std::shared_ptr<Arena> arena{};  // Ours; shared with the groups before and after.
  GroupFactory join_host{};        // Joins members that share a host.
  GroupFactory join_across{};      // Joins members on different hosts.
};

/// Joins the parts that our rank belongs to. In deterministic mode, that is if arenas have several
/// gradient slots, two levels would add in another order: then all ranks are joined by
/// `join_across` alone.
[[nodiscard]] Result<std::unique_ptr<Communicator>> join_host_groups(const HostGroups& groups);

}  // namespace rubato
