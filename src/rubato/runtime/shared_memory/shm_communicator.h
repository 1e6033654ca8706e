// The group on one host: each rank sums its slice of all gradients where they lie and writes the
// sum to all ranks, with two barriers and no copy.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "rubato/runtime/communicator.h"
#include "rubato/runtime/shared_memory/arena.h"
#include "rubato/wire/meeting.h"

namespace rubato {

/// What a rank needs to join a group on its host.
struct ShmGroup {
  int rank = 0;
  int meeting = -1;  // Descriptor of the meeting memory; stays the caller's.
  std::vector<std::shared_ptr<Arena>>
      arenas{};  // By rank. Shared: successive groups keep mappings.
  int cpus = 0;  // Spinning pays only if every rank has one.
  std::size_t note_length = kNoteLength;
};

[[nodiscard]] Result<std::unique_ptr<Communicator>> join_shm_group(ShmGroup group);

}  // namespace rubato
