#include "rubato/runtime/shared_memory/shm_communicator.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "rubato/runtime/shared_memory/futex_barrier.h"
#include "rubato/runtime/shared_memory/reduce_check.h"
#include "rubato/runtime/shared_memory/reduction_slices.h"
#include "rubato/runtime/shared_memory/shm_meeting.h"
#include "rubato/runtime/shared_memory/weighted_sum.h"

namespace rubato {
namespace {

// The offset of bytes that do not lie in their rank's arena.
constexpr std::uint64_t kOutsideArena = ~std::uint64_t{0};

// What is copied to everyone before the next piece is read; stays in the cache meanwhile.
constexpr std::size_t kCopyBytes = std::size_t{256} << 10U;

Error broken_off() {
  return Error{.code = ErrorCode::Io, .message = "the group on this host was broken off"};
}

/// One rank of a group on one host. A rank whose call has failed may find its slots written to by
/// a slower peer until that peer has left its call too; a new group must not start before then.
class ShmCommunicator final : public Communicator {
 public:
  ShmCommunicator(ShmGroup group, MeetingMap meeting)
      : meeting_(std::move(meeting)),
        rank_(group.rank),
        note_length_(group.note_length),
        arenas_(std::move(group.arenas)),
        barrier_(meeting_->barrier, size(), /*spins=*/size() <= group.cpus),
        offsets_(arenas_.size()) {
    limits_ = {.size = size(),
               .slots = arenas_[0]->layout().slots,
               .floats = arenas_[0]->layout().floats,
               .shards_max = kMeetingShardsMax,
               .note_length = note_length_};
    for (const auto& arena : arenas_) {
      limits_.slots = std::min(limits_.slots, arena->layout().slots);
      destinations_.push_back(arena->slot(0).data());
    }
  }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return static_cast<int>(arenas_.size()); }

  [[nodiscard]] Status reduce(const ReduceRequest& request, ReduceReport& report) override {
    if (Status valid = check_reduce(request, limits_); !valid) {
      abort();  // The others would wait for us.
      return valid;
    }
    write_note(request.note);
    if (Status met = meet({.fingerprint = fingerprint_of(request), .offset = 0}); !met) {
      return met;
    }
    read_notes(report.notes);
    turn_ ^= 1U;
    report.shard_squares.clear();
    report.sum_square = 0;
    if (request.floats == 0 || changes_nothing(request)) {
      return ok_status();
    }
    sum_own_slice(request);
    if (!barrier_.wait()) {
      return broken_off();
    }
    if (request.wants_squares) {
      add_up_squares(request, report);
    }
    return ok_status();
  }

  [[nodiscard]] Status broadcast(std::span<std::byte> bytes, int source) override {
    if (source < 0 || source >= size()) {
      abort();
      return bad_input(fmt::format("broadcast: no rank {} among {}", source, size()));
    }
    const Arena& arena = *arenas_[static_cast<std::size_t>(rank_)];
    const std::uint64_t offset = arena.holds(bytes) ? arena.offset_of(bytes) : kOutsideArena;
    const MeetingCard card{.fingerprint = fingerprint_of_broadcast(bytes.size(), source),
                           .offset = offset};
    if (Status met = meet(card); !met) {
      return met;
    }
    const std::uint64_t from = card_of(source).offset;
    const bool all_inside = read_offsets();
    turn_ ^= 1U;
    if (from == kOutsideArena) {
      return broadcast_by_chunks(bytes, source);
    }
    if (all_inside) {
      hand_out_slice(bytes.size(), source);
    } else if (rank_ != source) {
      const Arena& other = *arenas_[static_cast<std::size_t>(source)];
      std::memcpy(bytes.data(), other.at(from, bytes.size()).data(), bytes.size());
    }
    // The source may change its bytes only when all have them.
    return barrier_.wait() ? ok_status() : Status{broken_off()};
  }

  void abort() override { barrier_.abort(); }

 private:
  [[nodiscard]] MeetingCard& card_of(int rank) {
    return meeting_->cards[turn_][static_cast<std::size_t>(rank)].card;
  }

  void write_note(std::span<const double> note) {
    const std::span<double> ours = meeting_->notes[turn_][static_cast<std::size_t>(rank_)];
    std::ranges::copy(note, ours.begin());
    std::ranges::fill(ours.subspan(note.size(), note_length_ - note.size()), 0.0);
  }

  void read_notes(std::vector<double>& notes) {
    notes.resize(arenas_.size() * note_length_);
    for (std::size_t rank = 0; rank < arenas_.size(); ++rank) {
      std::memcpy(notes.data() + rank * note_length_, meeting_->notes[turn_][rank].data(),
                  note_length_ * sizeof(double));
    }
  }

  /// Waits for all ranks, and sees that all were asked the same.
  [[nodiscard]] Status meet(const MeetingCard& card) {
    card_of(rank_) = card;
    if (!barrier_.wait()) {
      return broken_off();
    }
    for (int other = 0; other < size(); ++other) {
      if (card_of(other).fingerprint != card.fingerprint) {
        abort();
        return bad_input(
            fmt::format("ranks {} and {} were asked for different things", rank_, other));
      }
    }
    return ok_status();
  }

  /// A lone rank with one shard of weight one has its sum already.
  [[nodiscard]] bool changes_nothing(const ReduceRequest& request) const {
    return size() == 1 && request.places.size() == 1 && request.places[0].slot == 0 &&
           request.weights[0] == 1.0F && !request.wants_squares;
  }

  void sum_own_slice(const ReduceRequest& request) {
    sources_.clear();
    for (const ShardPlace& place : request.places) {
      const Arena& arena = *arenas_[static_cast<std::size_t>(place.rank)];
      sources_.push_back(arena.slot(static_cast<std::size_t>(place.slot)).data());
    }
    SumRequest sum{.sources = sources_,
                   .weights = request.weights,
                   .destinations = destinations_,
                   .measured_end = request.measured_floats};
    const ReductionSlices slices(request.floats);
    const ReductionRange own = slices.owned_by(rank_, size());
    if (!request.wants_squares && own.begin < own.end) {
      sum_.run(sum, slices.floats_of(own.begin).begin, slices.floats_of(own.end - 1).end);
      return;
    }
    for (std::size_t segment = own.begin; segment < own.end; ++segment) {
      const ReductionRange range = slices.floats_of(segment);
      sum.squares = squares_of(segment, request.places.size());
      sum_.run(sum, range.begin, range.end);
    }
  }

  [[nodiscard]] std::span<double> squares_of(std::size_t segment, std::size_t shards) {
    return std::span<double>(meeting_->squares).subspan(segment * (shards + 1), shards + 1);
  }

  void add_up_squares(const ReduceRequest& request, ReduceReport& report) {
    const std::size_t shards = request.places.size();
    report.shard_squares.assign(shards, 0.0);
    const std::size_t segments = ReductionSlices(request.floats).segments();
    for (std::size_t segment = 0; segment < segments; ++segment) {
      const std::span<double> squares = squares_of(segment, shards);
      for (std::size_t shard = 0; shard < shards; ++shard) {
        report.shard_squares[shard] += squares[shard];
      }
      report.sum_square += squares[shards];
    }
  }

  /// Learns where everyone's bytes lie; false if some do not lie in an arena.
  [[nodiscard]] bool read_offsets() {
    bool all_inside = true;
    for (int other = 0; other < size(); ++other) {
      offsets_[static_cast<std::size_t>(other)] = card_of(other).offset;
      all_inside = all_inside && card_of(other).offset != kOutsideArena;
    }
    return all_inside;
  }

  /// Copies our share of the source's bytes to everyone: all processors copy, and what is read is
  /// read once.
  void hand_out_slice(std::size_t bytes, int source) {
    const auto ranks = static_cast<std::size_t>(size());
    const auto ours = static_cast<std::size_t>(rank_);
    const auto from = static_cast<std::size_t>(source);
    const std::size_t slice = (bytes / ranks + kCopyBytes - 1) / kCopyBytes * kCopyBytes;
    const std::size_t end = ours + 1 == ranks ? bytes : std::min(bytes, (ours + 1) * slice);
    for (std::size_t at = std::min(bytes, ours * slice); at < end; at += kCopyBytes) {
      const std::size_t now = std::min(kCopyBytes, end - at);
      const std::byte* const read = arenas_[from]->at(offsets_[from] + at, now).data();
      for (std::size_t to = 0; to < ranks; ++to) {
        if (to != from) {
          std::memcpy(arenas_[to]->at(offsets_[to] + at, now).data(), read, now);
        }
      }
    }
  }

  /// One chunk is written while the one before is read; a barrier lies between the two.
  [[nodiscard]] Status broadcast_by_chunks(std::span<std::byte> bytes, int source) {
    for (std::size_t turn = 0; !bytes.empty(); turn ^= 1U) {
      const std::span<std::byte> now = bytes.first(std::min(bytes.size(), kMeetingChunkBytes));
      std::byte* const chunk = meeting_->chunks[turn].data();
      if (rank_ == source) {
        std::memcpy(chunk, now.data(), now.size());
      }
      if (!barrier_.wait()) {
        return broken_off();
      }
      if (rank_ != source) {
        std::memcpy(now.data(), chunk, now.size());
      }
      bytes = bytes.subspan(now.size());
    }
    return ok_status();
  }

  MeetingMap meeting_;
  int rank_;
  std::size_t note_length_;
  std::vector<std::shared_ptr<Arena>> arenas_;  // Shared with the groups before and after.
  FutexBarrier barrier_;
  ReduceLimits limits_{};
  std::size_t turn_ = 0;  // Which copy of cards and notes is ours to write.
  WeightedSum sum_{};
  std::vector<const float*> sources_{};
  std::vector<float*> destinations_{};
  std::vector<std::uint64_t> offsets_;  // By rank, of what is broadcast.
};

/// What is wrong with a group as described.
Status check_group(const ShmGroup& group) {
  if (group.arenas.empty() || group.arenas.size() > kMeetingRanksMax) {
    return bad_input(fmt::format("a group on one host has 1 to {} ranks, found {}",
                                 kMeetingRanksMax, group.arenas.size()));
  }
  if (group.rank < 0 || group.rank >= static_cast<int>(group.arenas.size())) {
    return bad_input(fmt::format("no rank {} among {}", group.rank, group.arenas.size()));
  }
  if (group.note_length > kMeetingNotesMax) {
    return bad_input(fmt::format("notes have at most {} numbers, found {}", kMeetingNotesMax,
                                 group.note_length));
  }
  for (const auto& arena : group.arenas) {
    if (arena == nullptr) {
      return bad_input("a rank of the group has no arena");
    }
    const ArenaLayout& layout = arena->layout();
    const ArenaLayout& first = group.arenas[0]->layout();
    if (layout.floats != first.floats || layout.parameter_bytes != first.parameter_bytes) {
      return bad_input(
          fmt::format("arenas differ: {} bytes of parameters and {} floats, or {} and {}",
                      first.parameter_bytes, first.floats, layout.parameter_bytes, layout.floats));
    }
  }
  return ok_status();
}

}  // namespace

Result<std::unique_ptr<Communicator>> join_shm_group(ShmGroup group) {
  if (Status valid = check_group(group); !valid) {
    return valid.error();
  }
  Result<MeetingMap> meeting = MeetingMap::open(group.meeting);
  if (!meeting) {
    return meeting.error();
  }
  const auto size = static_cast<std::uint32_t>(group.arenas.size());
  std::uint32_t found = 0;
  if (!(*meeting)->size.compare_exchange_strong(found, size) && found != size) {
    return bad_input(
        fmt::format("a group of {} already meets there, expected one of {}", found, size));
  }
  return std::unique_ptr<Communicator>(
      std::make_unique<ShmCommunicator>(std::move(group), std::move(*meeting)));
}

}  // namespace rubato
