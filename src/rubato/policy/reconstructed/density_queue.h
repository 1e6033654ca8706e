// Queues of workers that run chunks of jobs, highest density first, and what one more chunk costs.
//
// From the preemptive scheduler for edge-cloud networks (JSAC'22): a job's data are cut into
// chunks, one for each of its workers; a chunk's density is one over its length times the number of
// chunks of its job. A worker runs, of the chunks whose data have arrived, the one of highest
// density; a chunk that is preempted stays where it is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rubato/base/time.h"

namespace rubato::policy::reconstructed {

/// A part of a job's work, to be done by one worker.
struct Chunk {
  Duration length{};      // All of it, by one worker.
  int siblings = 1;       // Chunks of its job, itself included.
  Duration left{};        // What is still to do.
  Instant ready{};        // When its data are there.
  std::uint64_t order{};  // Equal densities: who came first goes first.

  [[nodiscard]] bool goes_before(const Chunk& other) const {
    const double mine = to_seconds(length) * siblings;
    const double its = to_seconds(other.length) * other.siblings;
    return mine < its || (mine <= its && order < other.order);
  }
};

/// All chunks of one worker, in any order.
using ChunkQueue = std::vector<Chunk>;

/// The queue as it will be at `then`, if nothing is added.
[[nodiscard]] ChunkQueue queue_at(ChunkQueue queue, Instant now, Instant then);

/// The paper's Q, in seconds: by how much the sum of all jobs' mean chunk delays grows if the chunk
/// joins. That is its own upload, wait and length, and the wait of those it overtakes.
[[nodiscard]] double joining_cost(const ChunkQueue& queue, const Chunk& chunk, Instant now);

/// Greedy assignment (algorithm A_greedy): each of the job's chunks, all alike, in turn to the
/// queue where it costs least, the first of equals; returns the queues' numbers.
[[nodiscard]] std::vector<int> assign_chunks(std::span<ChunkQueue> queues, const Chunk& chunk,
                                             Instant now);

}  // namespace rubato::policy::reconstructed
