// What a group of workers does together: it sums gradients, exchanges short notes, hands over
// state, and can be broken off. One object stands for one rank of one generation.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "rubato/base/result.h"

namespace rubato {

/// Numbers a rank can put in a note.
constexpr std::size_t kNoteLength = 8;

/// Which rank holds a shard of the batch, and in which of its gradient slots.
struct ShardPlace {
  int rank = 0;
  int slot = 0;
};

/// One sum over all shards of a step; all but the note is the same on every rank.
struct ReduceRequest {
  std::span<const ShardPlace> places{};  // By shard.
  std::span<const float> weights{};      // By shard.
  std::size_t floats = 0;                // Of each slot; zero exchanges the notes alone.
  bool wants_squares = false;
  // Only so many floats from the first count in the squares; what follows is no gradient.
  std::size_t measured_floats = ~std::size_t{0};
  std::span<const double> note{};  // What this rank tells the others; at most kNoteLength.
};

/// What a reduction tells beside the sum. Kept by the caller, so that no step allocates.
struct ReduceReport {
  std::vector<double> notes{};          // kNoteLength of each rank, in order of rank; exact.
  std::vector<double> shard_squares{};  // Squared length of each shard's gradient, if wanted.
  double sum_square = 0;                // Squared length of the weighted sum, if wanted.
};

/// One rank of a group. Calls are made by one thread, in the same order on every rank.
class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;

  /// Sums weight times slot over all shards into slot 0 of every rank, in an order of additions
  /// that depends on the number of shards alone. Waits for all ranks. After a failure the slots
  /// hold nothing of use; some ranks may have succeeded.
  [[nodiscard]] virtual Status reduce(const ReduceRequest& request, ReduceReport& report) = 0;

  /// Copies the bytes of the source over everyone's.
  [[nodiscard]] virtual Status broadcast(std::span<std::byte> bytes, int source) = 0;

  /// Breaks off the call under way, on every rank it can reach; later calls fail. From any thread.
  virtual void abort() = 0;
};

}  // namespace rubato
