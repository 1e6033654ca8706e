// An optimizer step that the leader and idle replicas share: pieces of parameters, taken by whoever
// has time. All state lies in shared memory, and a replica may be killed at any instruction: what
// it was at is put back as it was and done again by the leader, so a step is whole in any case.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/runtime/split/shared_region.h"
#include "rubato/runtime/split/shared_signal.h"
#include "rubato/runtime/split/step_kernel.h"

namespace rubato::runtime::split {

/// Pieces that are handed out at once.
constexpr std::uint32_t kPiecesMax = 65'536;
/// Ranks are below this; the leader's is 0.
constexpr unsigned kStepRanksMax = 64;

/// What a replica's piece was before the replica changed it.
struct UndoCopy {
  // Step and piece that the copy is of; 0 if there is none.
  alignas(64) std::atomic<std::uint64_t> tag;
  std::array<float, kPieceFloats> parameter;
  std::array<float, kPieceFloats> gradient;
  std::array<float, kPieceFloats> first;
  std::array<float, kPieceFloats> second;
};

/// The part of a queue that lies in shared memory; all zero before the first step.
struct PieceQueueWords {
  // Number of the step in the upper half, the next piece to look at in the lower. There is work if
  // the lower half is less than `total`. Only a hint: a piece belongs to whom `owners` says.
  alignas(64) std::atomic<std::uint64_t> ticket;
  std::atomic<std::uint32_t> total;
  // Raised when a replica has finished a piece.
  SharedSignal finished;
  // Written by the leader while no piece is handed out; addresses are the same in all processes.
  alignas(64) StepWork work;
  const StepPiece* pieces;
  std::uint32_t kind;
  // Number of the step, and in the lowest eight bits the owner.
  alignas(64) std::array<std::atomic<std::uint64_t>, kPiecesMax> owners;
  std::array<UndoCopy, kStepRanksMax> undo;
};

/// One process's view of the queue.
class PieceQueue {
 public:
  [[nodiscard]] static std::size_t footprint() { return sizeof(PieceQueueWords); }
  /// The region must outlive the queue.
  [[nodiscard]] static Result<PieceQueue> open(const SharedRegion& region, std::size_t offset);
  explicit PieceQueue(PieceQueueWords& words) : words_(&words) {}

  /// Leader: hands out pieces. They and all that they point to must lie in memory that the replicas
  /// share at the same addresses, and the last step must be finished.
  void publish(StepKind kind, const StepWork& work, std::span<const StepPiece> pieces);

  /// True if a piece may be had.
  [[nodiscard]] bool has_work() const;
  /// Takes one piece and does it; false if there was none.
  bool do_piece(unsigned rank);

  /// Leader: true if all pieces are done; does those that were handed out but not taken.
  [[nodiscard]] bool finish(std::chrono::microseconds timeout);
  /// Leader: ranks that hold a piece.
  [[nodiscard]] std::vector<unsigned> holders() const;
  /// Leader: puts back and does again what a replica held. It must be dead.
  void recover(unsigned rank);

 private:
  [[nodiscard]] std::uint32_t sequence() const;
  [[nodiscard]] bool claim(std::uint32_t sequence, std::uint32_t index, unsigned rank);
  void run_own(std::uint32_t sequence, std::uint32_t index);
  void run_with_undo(std::uint32_t sequence, std::uint32_t index, unsigned rank);
  [[nodiscard]] bool is_finished();

  PieceQueueWords* words_;
  // Pieces before this one are known to be done; of the leader.
  std::uint32_t done_before_ = 0;
};

}  // namespace rubato::runtime::split
