#include "rubato/runtime/group/gloo_communicator.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <csignal>
#include <cstring>
#include <exception>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gloo/context.h>
#include <gloo/transport/unbound_buffer.h>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "rubato/runtime/shared_memory/exact_floats.h"
#include "rubato/runtime/shared_memory/reduce_check.h"
#include "rubato/runtime/shared_memory/reduction_slices.h"
#include "rubato/runtime/shared_memory/weighted_sum.h"

namespace rubato {
namespace {

using Milliseconds = std::chrono::milliseconds;

// A sum waits as long as the slowest rank computes; who hangs is found out elsewhere and ends in
// abort(). Gloo wants a limit all the same.
constexpr Milliseconds kSumPatience = std::chrono::hours(24);
constexpr std::size_t kGlooShardsMax = 4096;
// Most memory into which shards are gathered at a time, and least floats worth a round trip.
constexpr std::size_t kGatherBytesMax = std::size_t{64} << 20U;

Milliseconds to_milliseconds(Duration span) { return std::chrono::ceil<Milliseconds>(span); }

/// What c10d takes for a table of keys: a rendezvous, for as long as a group connects.
class RendezvousStore final : public c10d::Store {
 public:
  RendezvousStore(Rendezvous& rendezvous, std::string prefix, Milliseconds patience)
      : c10d::Store(patience), rendezvous_(&rendezvous), prefix_(std::move(prefix)) {}

  /// The rendezvous is the caller's and may be gone afterwards.
  void close() { rendezvous_ = nullptr; }

  void set(const std::string& key, const std::vector<std::uint8_t>& value) override {
    const Status status = open().set(prefix_ + key, std::string(value.begin(), value.end()));
    TORCH_CHECK(status.ok(), status.ok() ? std::string() : status.error().message);
  }

  std::vector<std::uint8_t> get(const std::string& key) override {
    const std::string value = value_of(key, getTimeout());
    return {value.begin(), value.end()};
  }

  void wait(const std::vector<std::string>& keys) override { wait(keys, getTimeout()); }

  void wait(const std::vector<std::string>& keys, const Milliseconds& patience) override {
    for (const std::string& key : keys) {
      (void)value_of(key, std::min(patience, getTimeout()));
    }
  }

  bool check(const std::vector<std::string>& keys) override {
    return std::ranges::all_of(
        keys, [this](const std::string& key) { return open().get(prefix_ + key, {}).ok(); });
  }

  // Gloo needs none of these to connect.
  std::int64_t add(const std::string& /*key*/, std::int64_t /*value*/) override {
    TORCH_CHECK(false, "a rendezvous cannot add");
  }
  bool deleteKey(const std::string& /*key*/) override {
    TORCH_CHECK(false, "a rendezvous cannot delete");
  }
  std::int64_t getNumKeys() override { TORCH_CHECK(false, "a rendezvous cannot count"); }

 private:
  [[nodiscard]] Rendezvous& open() const {
    TORCH_CHECK(rendezvous_ != nullptr, "the rendezvous was closed");
    return *rendezvous_;
  }

  [[nodiscard]] std::string value_of(const std::string& key, Milliseconds patience) const {
    Result<std::string> value = open().get(prefix_ + key, patience);
    TORCH_CHECK(value.ok(), value.ok() ? std::string() : value.error().message);
    return std::move(*value);
  }

  Rendezvous* rendezvous_;
  std::string prefix_;
};

/// c10d's group, and a way to break it off that c10d lacks.
class BreakableGroup final : public c10d::ProcessGroupGloo {
 public:
  using c10d::ProcessGroupGloo::ProcessGroupGloo;

  void wait_patiently() {
    for (const auto& context : contexts_) {
      context->setTimeout(kSumPatience);
    }
  }

  /// Closing connections would not wake those of this process that wait on them. A receive that
  /// runs out of time does both: gloo then fails every operation of the context, here at once and
  /// on the peers because their connections end.
  void break_off() {
    for (const auto& context : contexts_) {
      char nothing = 0;
      try {
        const auto buffer = context->createUnboundBuffer(&nothing, sizeof(nothing));
        buffer->recv((context->rank + 1) % context->size, kBreakSlot);
        buffer->waitRecv(Milliseconds(1));
      } catch (const std::exception&) {
        // As intended, or broken already.
      }
    }
  }

 private:
  // No collective uses it: c10d counts up from zero, in the low half.
  static constexpr std::uint64_t kBreakSlot = std::uint64_t{1} << 62U;
};

using GroupPointer = c10::intrusive_ptr<BreakableGroup>;

/// One rank of a group over TCP. Gloo works in the arena; a call returns only when gloo has let go
/// of it, even if it was broken off.
class GlooCommunicator final : public Communicator {
 public:
  GlooCommunicator(const GlooGroup& group, GroupPointer connected)
      : group_(group), connected_(std::move(connected)) {
    const ArenaLayout& layout = group_.arena->layout();
    limits_ = {.size = group_.size,
               .slots = layout.slots,
               .floats = layout.floats,
               .shards_max = kGlooShardsMax,
               .note_length = group_.note_length};
    const std::span<float> room = group_.arena->slot_and_tail();
    if (layout.slots == 1 && room.size() >= layout.floats + tail_floats()) {
      buffer_ = at::from_blob(room.data(), {static_cast<std::int64_t>(room.size())}, at::kFloat);
      is_in_place_ = true;
    } else if (layout.slots == 1) {
      buffer_ = at::zeros(static_cast<std::int64_t>(layout.floats + tail_floats()));
    }
  }

  ~GlooCommunicator() override {
    // Destruction joins threads.
    if (group_.reaper != nullptr && connected_) {
      group_.reaper->take([group = std::move(connected_)]() mutable { group.reset(); });
    }
  }

  [[nodiscard]] int rank() const override { return group_.rank; }
  [[nodiscard]] int size() const override { return group_.size; }

  [[nodiscard]] Status reduce(const ReduceRequest& request, ReduceReport& report) override {
    return guarded([&] {
      if (Status valid = check_reduce(request, limits_); !valid) {
        return valid;
      }
      report.shard_squares.clear();
      report.sum_square = 0;
      return limits_.slots == 1 ? reduce_by_sum(request, report)
                                : reduce_by_gathering(request, report);
    });
  }

  [[nodiscard]] Status broadcast(std::span<std::byte> bytes, int source) override {
    return guarded([&]() -> Status {
      if (source < 0 || source >= size()) {
        return bad_input(fmt::format("broadcast: no rank {} among {}", source, size()));
      }
      if (size() == 1 || bytes.empty()) {
        return ok_status();
      }
      std::vector<at::Tensor> tensors{at::from_blob(
          bytes.data(), {static_cast<std::int64_t>(bytes.size())}, at::TensorOptions(at::kByte))};
      c10d::BroadcastOptions options;
      options.rootRank = source;
      connected_->broadcast(tensors, options)->wait();
      return ok_status();
    });
  }

  void abort() override {
    if (!is_broken_.exchange(true) && connected_) {
      connected_->break_off();
    }
  }

 private:
  /// Runs a call; what fails here must fail for everyone, so a failure breaks the group off.
  template <typename Call>
  [[nodiscard]] Status guarded(Call&& call) {
    if (is_broken_) {
      return broken_off("");
    }
    try {
      Status status = call();
      if (!status) {
        abort();
      }
      return status;
    } catch (const std::exception& problem) {
      abort();
      return broken_off(problem.what());
    }
  }

  [[nodiscard]] Error broken_off(std::string_view why) const {
    // c10d's messages carry a stack trace behind the first line.
    return Error{.code = ErrorCode::Io,
                 .message = fmt::format("group {}: broken off{}{}", group_.name,
                                        why.empty() ? "" : ": ", why.substr(0, why.find('\n')))};
  }

  /// Floats by which one rank tells its fingerprint, its note and the square of its shard.
  [[nodiscard]] std::size_t cell_floats() const {
    return (1 + group_.note_length + 1) * kFloatsPerWord;
  }
  [[nodiscard]] std::size_t tail_floats() const {
    return cell_floats() * static_cast<std::size_t>(size());
  }
  /// Word `index` of a rank's cell, in a tail.
  [[nodiscard]] std::span<float, kFloatsPerWord> word(float* tail, int rank,
                                                      std::size_t index) const {
    float* const start = tail + cell_floats() * static_cast<std::size_t>(rank);
    return std::span<float, kFloatsPerWord>(start + index * kFloatsPerWord, kFloatsPerWord);
  }

  /// One all-reduce of the scaled gradient with the cells of all ranks behind it.
  [[nodiscard]] Status reduce_by_sum(const ReduceRequest& request, ReduceReport& report) {
    auto* const sum = static_cast<float*>(buffer_.data_ptr());
    float* const tail = sum + request.floats;
    double square = 0;
    if (Status scaled = scale_own_shard(request, sum, square); !scaled) {
      return scaled;
    }
    // Behind a request for less than the slot lies the rest of the slot.
    kept_.assign(tail, tail + (is_in_place_ ? tail_floats() : 0));
    std::fill(tail, tail + tail_floats(), 0.0F);
    put_exactly(fingerprint_of(request), word(tail, rank(), 0));
    for (std::size_t i = 0; i < request.note.size(); ++i) {
      put_exactly(request.note[i], word(tail, rank(), 1 + i));
    }
    put_exactly(square, word(tail, rank(), 1 + group_.note_length));
    if (size() > 1) {
      std::vector<at::Tensor> tensors{
          buffer_.narrow(0, 0, static_cast<std::int64_t>(request.floats + tail_floats()))};
      connected_->allreduce(tensors)->wait();
    }
    report.notes.resize(static_cast<std::size_t>(size()) * group_.note_length);
    for (int other = 0; other < size(); ++other) {
      if (take_exactly(word(tail, other, 0)) != fingerprint_of(request)) {
        return asked_differently(other);
      }
      for (std::size_t i = 0; i < group_.note_length; ++i) {
        report.notes[static_cast<std::size_t>(other) * group_.note_length + i] =
            take_double(word(tail, other, 1 + i));
      }
    }
    const bool has_squares = request.wants_squares && request.floats > 0;
    for (std::size_t i = 0; i < request.places.size() && has_squares; ++i) {
      report.shard_squares.push_back(
          take_double(word(tail, request.places[i].rank, 1 + group_.note_length)));
    }
    std::ranges::copy(kept_, tail);
    if (has_squares || (request.floats > 0 && !is_in_place_)) {
      write_sum(request, sum, report);
    }
    return ok_status();
  }

  [[nodiscard]] Error asked_differently(int other) const {
    return bad_input(fmt::format("ranks {} and {} were asked for different things", rank(), other));
  }

  /// Writes weight times our shard, or zeros if we have none, and takes its square.
  [[nodiscard]] Status scale_own_shard(const ReduceRequest& request, float* sum, double& square) {
    if (request.floats == 0) {
      return ok_status();
    }
    std::vector<bool> has_shard(static_cast<std::size_t>(size()), false);
    const float* source = group_.arena->slot(0).data();
    float weight = 0;
    for (std::size_t i = 0; i < request.places.size(); ++i) {
      const ShardPlace& place = request.places[i];
      if (has_shard[static_cast<std::size_t>(place.rank)]) {
        return bad_input(fmt::format("reduce: rank {} has one slot and two shards", place.rank));
      }
      has_shard[static_cast<std::size_t>(place.rank)] = true;
      weight = place.rank == rank() ? request.weights[i] : weight;
    }
    if (!has_shard[static_cast<std::size_t>(rank())]) {
      std::fill(sum, sum + request.floats, 0.0F);
      return ok_status();
    }
    if (is_in_place_ && weight == 1.0F && !request.wants_squares) {
      return ok_status();
    }
    std::array<double, 2> squares{};
    sum_.run({.sources = {&source, 1},
              .weights = {&weight, 1},
              .destinations = {&sum, 1},
              .squares = request.wants_squares ? std::span<double>(squares) : std::span<double>(),
              .measured_end = request.measured_floats},
             0, request.floats);
    square = squares[0];
    return ok_status();
  }

  /// Copies the sum to where the caller wants it, and takes its square on the way.
  void write_sum(const ReduceRequest& request, const float* sum, ReduceReport& report) {
    float* const destination = group_.arena->slot(0).data();
    const float one = 1;
    std::array<double, 2> squares{};
    sum_.run({.sources = {&sum, 1},
              .weights = {&one, 1},
              .destinations = {&destination, 1},
              .squares = request.wants_squares ? std::span<double>(squares) : std::span<double>(),
              .measured_end = request.measured_floats},
             0, request.floats);
    report.sum_square = squares[1];
  }

  /// Gathers what each rank says and some segments of all shards, and adds those up; then the
  /// next ones.
  [[nodiscard]] Status reduce_by_gathering(const ReduceRequest& request, ReduceReport& report) {
    const std::size_t rows = rows_of(request);
    const ReductionSlices slices(request.floats);
    const std::size_t segments = request.floats == 0 ? 0 : slices.segments();
    const std::size_t row_bytes = rows * static_cast<std::size_t>(size()) * sizeof(float);
    const std::size_t segment_bytes =
        segments == 0 ? 1 : row_bytes * (slices.floats_of(0).end - slices.floats_of(0).begin);
    const std::size_t at_once = std::max<std::size_t>(1, kGatherBytesMax / segment_bytes);
    if (request.wants_squares && request.floats > 0) {
      report.shard_squares.assign(request.places.size(), 0.0);
    }
    std::size_t first = 0;
    do {
      const std::size_t last = std::min(segments, first + at_once);
      const ReductionRange range{.begin = segments == 0 ? 0 : slices.floats_of(first).begin,
                                 .end = segments == 0 ? 0 : slices.floats_of(last - 1).end};
      const std::vector<at::Tensor> gathered = gather(request, rows, range);
      if (Status read = read_cells(request, gathered, report); !read) {
        return read;
      }
      const std::size_t cell = 2 * (1 + group_.note_length);
      sources_.clear();
      for (const ShardPlace& place : request.places) {
        sources_.push_back(
            static_cast<const float*>(gathered[static_cast<std::size_t>(place.rank)].data_ptr()) +
            cell + static_cast<std::size_t>(place.slot) * (range.end - range.begin));
      }
      for (std::size_t segment = first; segment < last; ++segment) {
        add_up_segment(request, slices.floats_of(segment), range.begin, report);
      }
      first = last;
    } while (first < segments);
    return ok_status();
  }

  /// Slots that are in use on any rank.
  [[nodiscard]] static std::size_t rows_of(const ReduceRequest& request) {
    std::size_t rows = 0;
    for (const ShardPlace& place : request.places) {
      rows = std::max(rows, static_cast<std::size_t>(place.slot) + 1);
    }
    return request.floats == 0 ? 0 : rows;
  }

  /// From each rank its fingerprint and note, bit for bit, then the range of its first slots.
  [[nodiscard]] std::vector<at::Tensor> gather(const ReduceRequest& request, std::size_t rows,
                                               ReductionRange range) {
    const std::size_t floats = range.end - range.begin;
    const std::size_t cell = 2 * (1 + group_.note_length);
    const auto length = static_cast<std::int64_t>(cell + rows * floats);
    std::vector<at::Tensor> inputs{at::empty({length})};
    auto* const ours = static_cast<float*>(inputs[0].data_ptr());
    std::vector<double> words(1 + group_.note_length, 0.0);
    words[0] = std::bit_cast<double>(fingerprint_of(request));
    std::ranges::copy(request.note, words.begin() + 1);
    std::memcpy(ours, words.data(), words.size() * sizeof(double));
    for (std::size_t row = 0; row < rows; ++row) {
      std::memcpy(ours + cell + row * floats, group_.arena->slot(row).data() + range.begin,
                  floats * sizeof(float));
    }
    if (size() == 1) {
      return inputs;
    }
    std::vector<std::vector<at::Tensor>> outputs(1);
    for (int other = 0; other < size(); ++other) {
      outputs[0].push_back(at::empty({length}));
    }
    connected_->allgather(outputs, inputs)->wait();
    return outputs[0];
  }

  [[nodiscard]] Status read_cells(const ReduceRequest& request,
                                  const std::vector<at::Tensor>& gathered, ReduceReport& report) {
    report.notes.resize(static_cast<std::size_t>(size()) * group_.note_length);
    for (int other = 0; other < size(); ++other) {
      const auto* const cell =
          static_cast<const std::byte*>(gathered[static_cast<std::size_t>(other)].data_ptr());
      std::uint64_t fingerprint = 0;
      std::memcpy(&fingerprint, cell, sizeof(fingerprint));
      if (fingerprint != fingerprint_of(request)) {
        return asked_differently(other);
      }
      std::memcpy(report.notes.data() + static_cast<std::size_t>(other) * group_.note_length,
                  cell + sizeof(fingerprint), group_.note_length * sizeof(double));
    }
    return ok_status();
  }

  /// Sums one segment of what was gathered, from `gathered_begin` on, into slot 0.
  void add_up_segment(const ReduceRequest& request, ReductionRange segment,
                      std::size_t gathered_begin, ReduceReport& report) {
    const std::size_t shards = request.places.size();
    segment_squares_.assign(request.wants_squares ? shards + 1 : 0, 0.0);
    float* const destination = group_.arena->slot(0).data() + gathered_begin;
    sum_.run({.sources = sources_,
              .weights = request.weights,
              .destinations = {&destination, 1},
              .squares = segment_squares_,
              .measured_end = std::max(request.measured_floats, gathered_begin) - gathered_begin},
             segment.begin - gathered_begin, segment.end - gathered_begin);
    for (std::size_t shard = 0; shard < shards && request.wants_squares; ++shard) {
      report.shard_squares[shard] += segment_squares_[shard];
    }
    report.sum_square += request.wants_squares ? segment_squares_[shards] : 0.0;
  }

  GlooGroup group_;
  GroupPointer connected_;
  ReduceLimits limits_{};
  std::atomic<bool> is_broken_ = false;
  WeightedSum sum_{};
  at::Tensor buffer_{};  // Slot 0 with the room behind it, or memory of our own.
  bool is_in_place_ = false;
  std::vector<float> kept_{};  // What the tail of a sum overwrites.
  std::vector<const float*> sources_{};
  std::vector<double> segment_squares_{};
};

/// Connects to all other ranks.
Result<GroupPointer> connect(const GlooGroup& group, Rendezvous& rendezvous) {
  try {
    const Milliseconds patience = to_milliseconds(group.patience);
    auto store = c10::make_intrusive<RendezvousStore>(rendezvous, group.name + "/", patience);
    auto options = c10d::ProcessGroupGloo::Options::create(patience);
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(group.address));
    // One thread made short sums several times slower.
    options->threads = 2;
    auto connected = c10::make_intrusive<BreakableGroup>(store, group.rank, group.size, options);
    store->close();
    connected->wait_patiently();
    return connected;
  } catch (const std::exception& problem) {
    const std::string_view why = problem.what();
    return Error{.code = ErrorCode::Io,
                 .message = fmt::format("group {}: rank {} of {} cannot join: {}", group.name,
                                        group.rank, group.size, why.substr(0, why.find('\n')))};
  }
}

}  // namespace

Result<std::unique_ptr<Communicator>> join_gloo_group(const GlooGroup& group,
                                                      Rendezvous& rendezvous) {
  if (group.arena == nullptr || group.size < 1 || group.rank < 0 || group.rank >= group.size ||
      group.patience <= Duration::zero()) {
    return bad_input(fmt::format(
        "group {}: needs an arena, a patience and a rank within its size, found rank {} of {}",
        group.name, group.rank, group.size));
  }
  struct sigaction action {};
  if (sigaction(SIGPIPE, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) {
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, nullptr);
  }
  GroupPointer connected;
  if (group.size > 1) {
    Result<GroupPointer> made = connect(group, rendezvous);
    if (!made) {
      return made.error();
    }
    connected = std::move(*made);
  }
  return std::unique_ptr<Communicator>(
      std::make_unique<GlooCommunicator>(group, std::move(connected)));
}

}  // namespace rubato
