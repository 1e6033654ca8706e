// A group over TCP, by c10d's gloo: for ranks on different hosts. Needs the part of the runtime
// that is built with libtorch.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "rubato/base/time.h"
#include "rubato/runtime/communicator.h"
#include "rubato/runtime/group/reaper.h"
#include "rubato/runtime/group/rendezvous.h"
#include "rubato/runtime/shared_memory/arena.h"

namespace rubato {

/// What a rank needs to join a group over TCP.
struct GlooGroup {
  int rank = 0;
  int size = 1;
  std::string name{};                 // The same on all ranks and never used before.
  std::string address = "127.0.0.1";  // Of the interface to listen on.
  Duration patience{};                // For everyone to connect.
  std::shared_ptr<Arena> arena{};     // Shared with the groups before and after.
  std::size_t note_length = kNoteLength;
  // Where connections are taken apart, which takes some 20 ms; shared by all groups of a process.
  // Without one, whoever destroys the group waits.
  std::shared_ptr<Reaper> reaper{};
};

/// Waits for everyone, at most for the group's patience. Ignores SIGPIPE from then on: a peer that
/// dies must not take this process along. Sums as its arena says: with one gradient slot, scaled
/// gradients go through gloo's all-reduce, at most one shard on each rank; with more of them, that
/// is in deterministic mode, shards are gathered and added up in the tree that all groups share.
/// Layouts must be the same on all ranks. A death or an abort() reaches the ranks that wait for the
/// one in question, then those that wait for them; a rank that waits for one that computes learns
/// of it only by an abort() of its own.

[[nodiscard]] Result<std::unique_ptr<Communicator>> join_gloo_group(const GlooGroup& group,
                                                                    Rendezvous& rendezvous);

}  // namespace rubato
