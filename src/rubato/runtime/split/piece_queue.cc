#include "rubato/runtime/split/piece_queue.h"

#include <algorithm>
#include <cstring>

#include "rubato/base/check.h"

namespace rubato::runtime::split {
namespace {

constexpr unsigned kOwnerBits = 8;
constexpr std::uint64_t kFree = 0;
constexpr std::uint64_t kDone = (1U << kOwnerBits) - 1;
static_assert(kStepRanksMax + 1 < kDone);

std::uint64_t owner_word(std::uint32_t sequence, std::uint64_t owner) {
  return std::uint64_t{sequence} << kOwnerBits | owner;
}

std::uint64_t owner_of_rank(unsigned rank) { return rank + 1; }

std::uint64_t step_ticket(std::uint32_t sequence, std::uint32_t index) {
  return std::uint64_t{sequence} << 32U | index;
}

/// Never zero, since steps count from one.
std::uint64_t undo_tag(std::uint32_t sequence, std::uint32_t index) {
  return step_ticket(sequence, index);
}

void copy_floats(float* to, const float* from, std::uint32_t floats) {
  if (to != nullptr && from != nullptr) {
    std::memcpy(to, from, floats * sizeof(float));
  }
}

bool is_updated(const StepWork& work, const StepPiece& piece) {
  return work.settings[piece.settings].kind != UpdateKind::None;
}

}  // namespace

Result<PieceQueue> PieceQueue::open(const SharedRegion& region, std::size_t offset) {
  const auto memory =
      region.part(offset, footprint(), alignof(PieceQueueWords), "a queue of pieces");
  if (!memory) {
    return memory.error();
  }
  return PieceQueue(*reinterpret_cast<PieceQueueWords*>(memory->data()));
}

void PieceQueue::publish(StepKind kind, const StepWork& work, std::span<const StepPiece> pieces) {
  RUBATO_CHECK(pieces.size() <= kPiecesMax);
  // A replica that stopped in the middle of taking a piece of the last step may still come: it
  // finds another number with every piece, whenever it looks.
  const std::uint32_t next = std::max(sequence() + 1, 1U);
  words_->work = work;
  words_->pieces = pieces.data();
  words_->kind = static_cast<std::uint32_t>(kind);
  const auto total = static_cast<std::uint32_t>(pieces.size());
  for (std::uint32_t index = 0; index < total; ++index) {
    words_->owners[index].store(owner_word(next, kFree), std::memory_order_release);
  }
  words_->total.store(total, std::memory_order_release);
  done_before_ = 0;
  words_->ticket.store(step_ticket(next, 0));
}

bool PieceQueue::has_work() const {
  const std::uint64_t ticket = words_->ticket.load(std::memory_order_acquire);
  return static_cast<std::uint32_t>(ticket) < words_->total.load(std::memory_order_acquire);
}

bool PieceQueue::do_piece(unsigned rank) {
  RUBATO_CHECK(rank < kStepRanksMax);
  std::uint64_t ticket = words_->ticket.load(std::memory_order_acquire);
  while (true) {
    const auto index = static_cast<std::uint32_t>(ticket);
    const auto number = static_cast<std::uint32_t>(ticket >> 32U);
    if (index >= words_->total.load(std::memory_order_acquire)) {
      return false;
    }
    if (!words_->ticket.compare_exchange_weak(ticket, ticket + 1)) {
      continue;
    }
    if (!claim(number, index, rank)) {
      return true;
    }
    if (rank == 0) {
      run_own(number, index);
    } else {
      run_with_undo(number, index, rank);
    }
    return true;
  }
}

bool PieceQueue::finish(std::chrono::microseconds timeout) {
  const std::uint32_t number = sequence();
  const std::uint32_t total = words_->total.load(std::memory_order_acquire);
  for (std::uint32_t index = done_before_; index < total; ++index) {
    // Whoever took the number of this piece may have died before it took the piece.
    if (claim(number, index, /*rank=*/0)) {
      run_own(number, index);
    }
  }
  return wait_for(words_->finished, /*waiter=*/0, {.timeout = timeout},
                  [this] { return is_finished(); });
}

std::vector<unsigned> PieceQueue::holders() const {
  std::vector<unsigned> found;
  const std::uint32_t total = words_->total.load(std::memory_order_acquire);
  for (std::uint32_t index = done_before_; index < total; ++index) {
    const std::uint64_t owner = words_->owners[index].load(std::memory_order_acquire) & kDone;
    if (owner != kFree && owner != kDone) {
      found.push_back(static_cast<unsigned>(owner - 1));
    }
  }
  return found;
}

void PieceQueue::recover(unsigned rank) {
  RUBATO_CHECK(rank > 0 && rank < kStepRanksMax);
  const std::uint32_t number = sequence();
  const std::uint32_t total = words_->total.load(std::memory_order_acquire);
  const UndoCopy& undo = words_->undo[rank];
  for (std::uint32_t index = done_before_; index < total; ++index) {
    if (words_->owners[index].load() != owner_word(number, owner_of_rank(rank))) {
      continue;
    }
    // Without a copy of this very piece it had not changed anything yet.
    if (undo.tag.load() == undo_tag(number, index)) {
      const StepPiece& piece = words_->pieces[index];
      copy_floats(piece.gradient, undo.gradient.data(),
                  words_->work.writes_gradient() ? piece.floats : 0);
      if (is_updated(words_->work, piece)) {
        copy_floats(piece.parameter, undo.parameter.data(), piece.floats);
        copy_floats(piece.first, undo.first.data(), piece.floats);
        copy_floats(piece.second, undo.second.data(), piece.floats);
      }
    }
    run_own(number, index);
  }
}

std::uint32_t PieceQueue::sequence() const {
  return static_cast<std::uint32_t>(words_->ticket.load(std::memory_order_acquire) >> 32U);
}

bool PieceQueue::claim(std::uint32_t sequence, std::uint32_t index, unsigned rank) {
  std::uint64_t expected = owner_word(sequence, kFree);
  return words_->owners[index].compare_exchange_strong(expected,
                                                       owner_word(sequence, owner_of_rank(rank)));
}

void PieceQueue::run_own(std::uint32_t sequence, std::uint32_t index) {
  run_piece(static_cast<StepKind>(words_->kind), words_->work, words_->pieces[index]);
  words_->owners[index].store(owner_word(sequence, kDone), std::memory_order_release);
}

void PieceQueue::run_with_undo(std::uint32_t sequence, std::uint32_t index, unsigned rank) {
  const StepWork& work = words_->work;
  const StepPiece& piece = words_->pieces[index];
  UndoCopy& undo = words_->undo[rank];
  if (work.writes_gradient()) {
    copy_floats(undo.gradient.data(), piece.gradient, piece.floats);
  }
  if (is_updated(work, piece)) {
    copy_floats(undo.parameter.data(), piece.parameter, piece.floats);
    copy_floats(undo.first.data(), piece.first, piece.floats);
    copy_floats(undo.second.data(), piece.second, piece.floats);
  }
  // The copy is complete before this, and nothing of the piece changes before it.
  undo.tag.exchange(undo_tag(sequence, index));
  run_piece(static_cast<StepKind>(words_->kind), work, piece);
  // In this order: a piece that is done is never put back.
  words_->owners[index].store(owner_word(sequence, kDone));
  undo.tag.store(0);
  words_->finished.raise();
}

bool PieceQueue::is_finished() {
  const std::uint64_t done = owner_word(sequence(), kDone);
  const std::uint32_t total = words_->total.load(std::memory_order_acquire);
  while (done_before_ < total &&
         words_->owners[done_before_].load(std::memory_order_acquire) == done) {
    ++done_before_;
  }
  return done_before_ == total;
}

}  // namespace rubato::runtime::split
