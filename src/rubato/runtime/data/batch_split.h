// Which samples a step uses, and who computes them. Everything is a function of the cursor and the
// sizes alone, so that any group of workers continues where another one stopped: a step that is
// broken off is redone from the same cursor, by however many workers are left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/runtime/communicator.h"
#include "rubato/wire/data_cursor.h"

namespace rubato {

/// How many shards a step has in deterministic mode, unless told otherwise.
constexpr int kVirtualShards = 8;

/// How an epoch is cut into batches. The batch may change from step to step.
struct EpochCut {
  std::uint64_t samples = 1;  // In the dataset.
  std::uint64_t batch = 1;    // Of all workers together.
  bool drop_last = false;     // Leave out what is left of an epoch and is less than a batch.
};

/// Positions [begin, end) of an epoch.
struct StepRange {
  std::uint64_t epoch = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  [[nodiscard]] std::uint64_t samples() const { return end - begin; }
  friend bool operator==(const StepRange&, const StepRange&) = default;
};

/// Says why an epoch cannot be cut like this, if it cannot; below, it must be possible.
[[nodiscard]] Status check_cut(const EpochCut& cut);

/// The samples of the step that the cursor is at; never empty, at most a batch, of one epoch.
[[nodiscard]] StepRange step_range(const DataCursor& cursor, const EpochCut& cut);

/// The cursor once that step is committed.
[[nodiscard]] DataCursor advance(const DataCursor& cursor, const EpochCut& cut);

/// Who takes part in a step.
struct SplitRequest {
  int ranks = 1;
  int shards = 0;  // Of the batch; 0: one for each rank. A fixed number makes results independent
                   // of the number of ranks.
  std::span<const double> speeds{};  // By rank, in any unit, none negative; empty: all the same.
};

/// The shards of a step. Keeps its memory: splitting again with as many shards allocates nothing.
///
/// With one shard for each rank, shards are as large as the speeds say. With a fixed number of
/// shards these are as even as can be, and it is shards that are handed out by speed: results
/// depend on the cuts, not on who computes what is between them.
class StepSplit {
 public:
  void split(const StepRange& range, const SplitRequest& request);

  /// Positions of a shard in the epoch; empty if there are fewer samples than shards.
  [[nodiscard]] std::span<const StepRange> shards() const { return shards_; }
  /// Samples of the shard in relation to those of the step.
  [[nodiscard]] std::span<const float> weights() const { return weights_; }
  [[nodiscard]] std::span<const ShardPlace> places() const { return places_; }
  /// The shards of a rank: [first, first + count), in slots 0, 1, ...
  [[nodiscard]] std::size_t first_shard(int rank) const;
  [[nodiscard]] std::size_t shard_count(int rank) const;
  /// Gradient slots that the busiest rank needs; at least one.
  [[nodiscard]] std::size_t slots() const { return slots_; }

 private:
  struct Remainder {
    double part = 0;
    std::size_t index = 0;
  };

  void apportion(std::uint64_t total, std::size_t parts, std::span<const double> speeds);
  void place_shards(const SplitRequest& request, std::size_t shards);

  std::vector<StepRange> shards_{};
  std::vector<float> weights_{};
  std::vector<ShardPlace> places_{};
  std::vector<std::size_t> first_{};    // By rank, and one past the last.
  std::vector<std::uint64_t> parts_{};  // What apportion() found.
  std::vector<Remainder> remainders_{};
  std::size_t slots_ = 1;
};

}  // namespace rubato
