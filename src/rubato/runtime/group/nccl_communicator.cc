#include "rubato/runtime/group/nccl_communicator.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rubato/runtime/shared_memory/reduce_check.h"

namespace rubato {
namespace {

constexpr std::size_t kNcclShardsMax = 4096;
// What one rank tells all: a fingerprint, its note, the square of its shard.
constexpr std::size_t kWordsPerRank = 1 + kNoteLength + 1;

/// One rank on one GPU.
class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(NcclTable table, NcclGroup group)
      : table_(std::move(table)),
        group_(std::move(group)),
        words_(kWordsPerRank * static_cast<std::size_t>(group_.size)) {}

  ~NcclCommunicator() override {
    if (comm_ != nullptr) {
      // Destruction waits for work that was enqueued; of a broken group that would never end.
      is_broken_ ? table_.comm_abort(comm_) : table_.comm_destroy(comm_);
    }
    if (stream_ != nullptr) {
      // Copies on the stream use memory of ours.
      while (table_.stream_query(stream_) == kCudaNotReady) {
        std::this_thread::yield();
      }
      table_.stream_destroy(stream_);
    }
    if (device_words_ != nullptr) {
      table_.release(device_words_);
    }
  }

  /// Makes what lives on the device, and waits for all other ranks.
  [[nodiscard]] Status connect(const NcclUniqueId& id) {
    if (Status set = cuda(table_.set_device(group_.device), "cudaSetDevice"); !set) {
      return set;
    }
    if (Status made = cuda(table_.stream_create(&stream_), "cudaStreamCreate"); !made) {
      return made;
    }
    if (Status made = cuda(table_.allocate(&device_words_, words_bytes()), "cudaMalloc"); !made) {
      return made;
    }
    return nccl(table_.comm_init_rank(&comm_, size(), id, rank()), "ncclCommInitRank");
  }

  [[nodiscard]] int rank() const override { return group_.rank; }
  [[nodiscard]] int size() const override { return group_.size; }

  [[nodiscard]] Status reduce(const ReduceRequest& request, ReduceReport& report) override {
    return guarded([&] { return reduce_once(request, report); });
  }

  [[nodiscard]] Status broadcast(std::span<std::byte> bytes, int source) override {
    return guarded([&]() -> Status {
      if (source < 0 || source >= size()) {
        return bad_input(fmt::format("broadcast: no rank {} among {}", source, size()));
      }
      if (Status sent = nccl(table_.broadcast(bytes.data(), bytes.data(), bytes.size(), kNcclUint8,
                                              source, comm_, stream_),
                             "ncclBroadcast");
          !sent) {
        return sent;
      }
      return wait();
    });
  }

  /// NCCL frees a communicator that it aborts, so that is left to the thread that uses it.
  void abort() override { is_broken_ = true; }

 private:
  template <typename Call>
  [[nodiscard]] Status guarded(Call&& call) {
    if (is_broken_) {
      return broken_off();
    }
    // Which device is meant is a matter of the calling thread.
    Status status = cuda(table_.set_device(group_.device), "cudaSetDevice");
    if (status.ok()) {
      status = call();
    }
    if (!status) {
      is_broken_ = true;
      if (comm_ != nullptr) {
        table_.comm_abort(std::exchange(comm_, nullptr));
      }
    }
    return status;
  }

  [[nodiscard]] Error broken_off() const {
    return Error{.code = ErrorCode::Io,
                 .message = fmt::format("group {} was broken off", group_.name)};
  }

  [[nodiscard]] Status nccl(int result, std::string_view what) const {
    if (result == kNcclSuccess) {
      return ok_status();
    }
    return Error{.code = ErrorCode::Io,
                 .message = fmt::format("group {}: {}: {}", group_.name, what,
                                        table_.get_error_string(result))};
  }

  [[nodiscard]] Status cuda(int result, std::string_view what) const {
    if (result == kCudaSuccess) {
      return ok_status();
    }
    return Error{.code = ErrorCode::Io,
                 .message = fmt::format("group {}: {}: {}", group_.name, what,
                                        table_.get_cuda_error_string(result))};
  }

  [[nodiscard]] std::size_t words_bytes() const { return words_.size() * sizeof(std::uint64_t); }
  [[nodiscard]] std::span<std::uint64_t> words_of(int rank) {
    return std::span(words_).subspan(static_cast<std::size_t>(rank) * kWordsPerRank, kWordsPerRank);
  }

  [[nodiscard]] Status reduce_once(const ReduceRequest& request, ReduceReport& report) {
    float weight = 0;
    bool has_shard = false;
    if (Status valid = check(request, weight, has_shard); !valid) {
      return valid;
    }
    double square = 0;
    if (request.wants_squares && has_shard) {
      const Result<double> taken = group_.square(group_.gradient, measured_of(request));
      if (!taken) {
        return taken.error();
      }
      square = *taken;
    }
    std::ranges::fill(words_, 0U);
    const std::span<std::uint64_t> own = words_of(rank());
    own[0] = fingerprint_of(request);
    for (std::size_t i = 0; i < request.note.size(); ++i) {
      own[1 + i] = std::bit_cast<std::uint64_t>(request.note[i]);
    }
    own.back() = std::bit_cast<std::uint64_t>(square);
    if (Status summed = sum(request.floats, weight, has_shard); !summed) {
      return summed;
    }
    return read(request, report);
  }

  /// Finds the weight of our shard, if we have one.
  [[nodiscard]] Status check(const ReduceRequest& request, float& weight, bool& has_shard) const {
    if (Status valid = check_reduce(
            request, {.size = size(), .floats = group_.floats, .shards_max = kNcclShardsMax});
        !valid) {
      return valid;
    }
    std::vector<bool> seen(static_cast<std::size_t>(size()), false);
    for (std::size_t i = 0; i < request.places.size() && request.floats > 0; ++i) {
      const auto owner = static_cast<std::size_t>(request.places[i].rank);
      if (seen[owner]) {
        return bad_input(fmt::format("reduce: rank {} has one slot and two shards", owner));
      }
      seen[owner] = true;
      weight = request.places[i].rank == rank() ? request.weights[i] : weight;
    }
    has_shard = seen[static_cast<std::size_t>(rank())];
    if (request.wants_squares && request.floats > 0 && group_.square == nullptr) {
      return Error{.code = ErrorCode::BadConfig,
                   .message =
                       "squares of gradients on a GPU were asked for, but nobody said how "
                       "to take them"};
    }
    return ok_status();
  }

  /// Sums gradients and words over all ranks, as one launch.
  [[nodiscard]] Status sum(std::size_t floats, float weight, bool has_shard) {
    if (Status copied = cuda(table_.copy_async(device_words_, words_.data(), words_bytes(),
                                               kCudaHostToDevice, stream_),
                             "cudaMemcpyAsync");
        !copied) {
      return copied;
    }
    if (floats > 0 && !has_shard) {
      // Zeros, not whatever was left there times zero.
      weight = 1;
      if (Status filled =
              cuda(table_.fill_async(group_.gradient, 0, floats * sizeof(float), stream_),
                   "cudaMemsetAsync");
          !filled) {
        return filled;
      }
    }
    int scaled_sum = kNcclSum;
    if (Status made = nccl(table_.red_op_create_pre_mul_sum(&scaled_sum, &weight, kNcclFloat32,
                                                            kNcclScalarOnHost, comm_),
                           "ncclRedOpCreatePreMulSum");
        !made) {
      return made;
    }
    const Status summed = enqueue_sums(floats, scaled_sum);
    table_.red_op_destroy(scaled_sum, comm_);
    return summed.ok() ? wait() : summed;
  }

  [[nodiscard]] Status enqueue_sums(std::size_t floats, int scaled_sum) {
    Status status = nccl(table_.group_start(), "ncclGroupStart");
    if (status.ok() && floats > 0) {
      status = nccl(table_.all_reduce(group_.gradient, group_.gradient, floats, kNcclFloat32,
                                      scaled_sum, comm_, stream_),
                    "ncclAllReduce");
    }
    if (status.ok()) {
      status = nccl(table_.all_reduce(device_words_, device_words_, words_.size(), kNcclUint64,
                                      kNcclSum, comm_, stream_),
                    "ncclAllReduce");
    }
    const Status ended = nccl(table_.group_end(), "ncclGroupEnd");
    if (!status || !ended) {
      return status.ok() ? ended : status;
    }
    return cuda(
        table_.copy_async(words_.data(), device_words_, words_bytes(), kCudaDeviceToHost, stream_),
        "cudaMemcpyAsync");
  }

  /// Waits until the stream is done, NCCL reports a failure, or we are broken off.
  [[nodiscard]] Status wait() {
    for (;;) {
      const int state = table_.stream_query(stream_);
      if (state != kCudaNotReady && state != kCudaSuccess) {
        return cuda(state, "cudaStreamQuery");
      }
      int failure = kNcclSuccess;
      if (Status asked =
              nccl(table_.comm_get_async_error(comm_, &failure), "ncclCommGetAsyncError");
          !asked) {
        return asked;
      }
      if (failure != kNcclSuccess && failure != kNcclInProgress) {
        return nccl(failure, "a peer");
      }
      if (state == kCudaSuccess) {
        return ok_status();
      }
      if (is_broken_) {
        return broken_off();
      }
      std::this_thread::yield();
    }
  }

  [[nodiscard]] static std::size_t measured_of(const ReduceRequest& request) {
    return std::min(request.floats, request.measured_floats);
  }

  [[nodiscard]] Status read(const ReduceRequest& request, ReduceReport& report) {
    report.notes.resize(static_cast<std::size_t>(size()) * kNoteLength);
    report.shard_squares.clear();
    report.sum_square = 0;
    for (int other = 0; other < size(); ++other) {
      const std::span<std::uint64_t> words = words_of(other);
      if (words[0] != fingerprint_of(request)) {
        return bad_input(
            fmt::format("ranks {} and {} were asked for different things", rank(), other));
      }
      for (std::size_t i = 0; i < kNoteLength; ++i) {
        report.notes[static_cast<std::size_t>(other) * kNoteLength + i] =
            std::bit_cast<double>(words[1 + i]);
      }
    }
    if (!request.wants_squares || request.floats == 0) {
      return ok_status();
    }
    for (const ShardPlace& place : request.places) {
      report.shard_squares.push_back(std::bit_cast<double>(words_of(place.rank).back()));
    }
    const Result<double> taken = group_.square(group_.gradient, measured_of(request));
    if (!taken) {
      return taken.error();
    }
    report.sum_square = *taken;
    return ok_status();
  }

  NcclTable table_;
  NcclGroup group_;
  std::vector<std::uint64_t> words_;
  std::atomic<bool> is_broken_ = false;
  NcclComm* comm_ = nullptr;
  CudaStream* stream_ = nullptr;
  void* device_words_ = nullptr;
};

/// The id that rank 0 makes and leaves at the rendezvous.
Result<NcclUniqueId> agreed_id(const NcclTable& table, const NcclGroup& group,
                               Rendezvous& rendezvous) {
  const std::string key = group.name + "/nccl";
  NcclUniqueId id;
  if (group.rank == 0) {
    if (const int result = table.get_unique_id(&id); result != kNcclSuccess) {
      return Error{.code = ErrorCode::Io,
                   .message = fmt::format("group {}: ncclGetUniqueId: {}", group.name,
                                          table.get_error_string(result))};
    }
    if (Status set = rendezvous.set(key, {id.bytes.data(), id.bytes.size()}); !set) {
      return set.error();
    }
    return id;
  }
  const Result<std::string> found = rendezvous.get(key, group.patience);
  if (!found) {
    return found.error();
  }
  if (found->size() != id.bytes.size()) {
    return bad_input(fmt::format("group {}: an NCCL id has {} bytes, found {}", group.name,
                                 id.bytes.size(), found->size()));
  }
  std::memcpy(id.bytes.data(), found->data(), id.bytes.size());
  return id;
}

}  // namespace

Result<std::unique_ptr<Communicator>> join_nccl_group(const NcclTable& table,
                                                      const NcclGroup& group,
                                                      Rendezvous& rendezvous) {
  if (group.size < 1 || group.rank < 0 || group.rank >= group.size) {
    return bad_input(fmt::format("no rank {} among {}", group.rank, group.size));
  }
  if (group.gradient == nullptr && group.floats > 0) {
    return bad_input("a GPU's gradients have no address");
  }
  const Result<NcclUniqueId> id = agreed_id(table, group, rendezvous);
  if (!id) {
    return id.error();
  }
  auto joined = std::make_unique<NcclCommunicator>(table, group);
  if (Status connected = joined->connect(*id); !connected) {
    return connected.error();
  }
  return std::unique_ptr<Communicator>(std::move(joined));
}

}  // namespace rubato
