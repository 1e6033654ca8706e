// Builds the group of each published generation beside the training: maps the arenas of peers on
// this host, connects to other hosts, and keeps what the next generation can use again.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <thread>

#include "rubato/runtime/group/group_inbox.h"
#include "rubato/runtime/group/host_groups.h"
#include "rubato/runtime/group/rendezvous.h"
#include "rubato/runtime/shared_memory/arena.h"
#include "rubato/runtime/shared_memory/shm_communicator.h"

namespace rubato {

/// The ranks of a generation as one worker sees them.
struct GroupSeats {
  int rank = 0;
  std::vector<std::uint64_t> workers{};  // By rank.
  std::vector<std::string> hosts{};      // By rank.
};

/// Joins ranks on several hosts; given where the program has a way across hosts.
struct RemoteGroup {
  std::uint64_t generation = 0;
  GroupSeats seats{};
  std::shared_ptr<Arena> own{};
  GroupFactory join_host{};  // Joins the ranks of this host, in memory.
};
using RemoteJoin =
    std::function<Result<std::unique_ptr<Communicator>>(RemoteGroup group, Rendezvous& rendezvous)>;

/// Who builds.
struct BuilderSetup {
  std::uint64_t worker = 0;
  std::shared_ptr<Arena> arena{};  // Shared with the groups built.
  RemoteJoin join_remote{};        // Empty: all members must be on this host.
  int cpus = 0;
  // Called when a generation cannot be built; the others would wait for this worker in vain.
  std::function<void(std::uint64_t generation, const Error& error)> on_failure{};
};

/// Takes generations out of the inbox and puts groups back, on a thread of its own.
class GroupBuilder {
 public:
  GroupBuilder(BuilderSetup setup, GroupInbox& inbox, Rendezvous& rendezvous);

 private:
  void run();
  [[nodiscard]] Result<BuiltGroup> build(GenerationPost post);
  [[nodiscard]] Status keep_arenas(GenerationPost& post);
  [[nodiscard]] Result<std::unique_ptr<Communicator>> join_across(const GenerationPost& post,
                                                                  const GroupSeats& seats,
                                                                  const ShmGroup& local);

  BuilderSetup setup_;
  GroupInbox& inbox_;
  Rendezvous& rendezvous_;
  std::map<std::uint64_t, std::shared_ptr<Arena>> arenas_;  // Of peers met so far.
  std::jthread thread_;                                     // Last: it uses all of the above.
};

}  // namespace rubato
