// A stand-in for NCCL and the CUDA runtime, for tests: devices are host memory, ranks are threads
// of one process, streams are threads that work in order. It has the names and the manners of the
// real ones: calls only enqueue, joining blocks, an abort ends what is under way.

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "rubato/runtime/group/nccl_table.h"

namespace {

constexpr int kInvalidArgument = 4;
constexpr int kRemoteError = 6;
// Handles of operators below this are NCCL's own.
constexpr int kFirstOwnOperator = 5;

/// What one rank brings to a collective call.
struct Share {
  const void* from = nullptr;
  void* to = nullptr;
  float scale = 1;
};

/// One collective call, of all ranks.
struct Call {
  std::vector<Share> shares{};
  std::size_t count = 0;
  int type = 0;
  int root = -1;  // -1 for a sum.
  int arrived = 0;
  bool is_done = false;
};

/// Where the ranks of one communicator meet.
struct Room {
  std::mutex mutex{};
  std::condition_variable changed{};
  int size = 0;
  int joined = 0;
  bool is_broken = false;
  std::map<std::uint64_t, Call> calls{};  // By their number in order.
};

std::size_t width_of(int type) {
  switch (type) {
    case rubato::kNcclFloat32:
      return sizeof(float);
    case rubato::kNcclUint64:
      return sizeof(std::uint64_t);
    default:
      return 1;
  }
}

/// Adds up in order of rank; the sum is made aside, because destinations may be sources.
template <typename T, typename Term>
void add_up(const Call& call, Term&& term) {
  std::vector<T> sum(call.count, T{});
  for (const Share& share : call.shares) {
    const T* const values = static_cast<const T*>(share.from);
    for (std::size_t i = 0; i < call.count; ++i) {
      sum[i] += term(values[i], share);
    }
  }
  for (const Share& share : call.shares) {
    std::memcpy(share.to, sum.data(), call.count * sizeof(T));
  }
}

void perform(const Call& call) {
  if (call.root >= 0) {
    const void* const from = call.shares[static_cast<std::size_t>(call.root)].from;
    for (const Share& share : call.shares) {
      std::memmove(share.to, from, call.count * width_of(call.type));
    }
  } else if (call.type == rubato::kNcclFloat32) {
    add_up<float>(call, [](float value, const Share& share) { return value * share.scale; });
  } else {
    add_up<std::uint64_t>(call, [](std::uint64_t value, const Share&) { return value; });
  }
}

/// Rooms by the id of the communicator: the interface has no other place to keep them.
std::shared_ptr<Room> room_of(const rubato::NcclUniqueId& id) {
  static std::mutex mutex;
  static std::map<std::array<char, 128>, std::shared_ptr<Room>> rooms;
  const std::lock_guard lock(mutex);
  auto& room = rooms[id.bytes];
  if (room == nullptr) {
    room = std::make_shared<Room>();
  }
  return room;
}

}  // namespace

namespace rubato {

struct NcclComm {
  std::shared_ptr<Room> room{};  // Shared by the ranks and by calls on their streams.
  int rank = 0;
  std::uint64_t next_call = 0;
  std::vector<float> scales{};  // Of the operators that were made.
};

struct CudaStream {
  std::mutex mutex{};
  std::condition_variable changed{};
  std::deque<std::function<void()>> work{};
  bool is_busy = false;
  bool is_ending = false;
  std::thread thread{};

  void enqueue(std::function<void()> next) {
    {
      const std::lock_guard lock(mutex);
      work.push_back(std::move(next));
    }
    changed.notify_one();
  }

  void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return is_ending || !work.empty(); });
      if (work.empty()) {
        return;
      }
      const std::function<void()> next = std::move(work.front());
      work.pop_front();
      is_busy = true;
      lock.unlock();
      next();
      lock.lock();
      is_busy = false;
    }
  }
};

}  // namespace rubato

namespace {

/// Brings a share to the call and waits until all have, or the room is broken.
void take_part(Room& room, std::uint64_t number, int rank, const Call& shape, const Share& share) {
  std::unique_lock lock(room.mutex);
  Call& call = room.calls[number];
  if (call.shares.empty()) {
    call = shape;
    call.shares.resize(static_cast<std::size_t>(room.size));
  }
  call.shares[static_cast<std::size_t>(rank)] = share;
  if (++call.arrived == room.size && !room.is_broken) {
    perform(call);
    call.is_done = true;
    room.changed.notify_all();
  }
  room.changed.wait(lock, [&] { return call.is_done || room.is_broken; });
}

void enqueue_call(rubato::NcclComm& comm, rubato::CudaStream& stream, const Call& shape,
                  const Share& share) {
  stream.enqueue([room = comm.room, number = comm.next_call++, rank = comm.rank, shape, share] {
    take_part(*room, number, rank, shape, share);
  });
}

void break_room(Room& room) {
  {
    const std::lock_guard lock(room.mutex);
    room.is_broken = true;
  }
  room.changed.notify_all();
}

}  // namespace

// Names and parameters are those of the real libraries.
// NOLINTBEGIN(readability-identifier-naming,readability-function-size)
extern "C" {

int ncclGetUniqueId(rubato::NcclUniqueId* id) {
  static std::atomic<std::uint64_t> next = 1;
  const std::uint64_t number = next++;
  *id = {};
  std::memcpy(id->bytes.data(), &number, sizeof(number));
  return 0;
}

int ncclCommInitRank(rubato::NcclComm** comm, int size, rubato::NcclUniqueId id, int rank) {
  if (rank < 0 || rank >= size) {
    return kInvalidArgument;
  }
  auto room = room_of(id);
  std::unique_lock lock(room->mutex);
  room->size = size;
  ++room->joined;
  room->changed.notify_all();
  room->changed.wait(lock, [&room] { return room->joined >= room->size; });
  *comm =
      std::make_unique<rubato::NcclComm>(rubato::NcclComm{.room = room, .rank = rank}).release();
  return 0;
}

int ncclCommDestroy(rubato::NcclComm* comm) {
  const std::unique_ptr<rubato::NcclComm> last(comm);
  return 0;
}

int ncclCommAbort(rubato::NcclComm* comm) {
  break_room(*comm->room);
  return ncclCommDestroy(comm);
}

int ncclCommGetAsyncError(rubato::NcclComm* comm, int* error) {
  const std::lock_guard lock(comm->room->mutex);
  *error = comm->room->is_broken ? kRemoteError : 0;
  return 0;
}

int ncclGroupStart() { return 0; }
int ncclGroupEnd() { return 0; }

int ncclAllReduce(const void* from, void* to, std::size_t count, int type, int op,
                  rubato::NcclComm* comm, rubato::CudaStream* stream) {
  const auto own = static_cast<std::size_t>(op - kFirstOwnOperator);
  if (op != rubato::kNcclSum && (op < kFirstOwnOperator || own >= comm->scales.size())) {
    return kInvalidArgument;
  }
  const float scale = op == rubato::kNcclSum ? 1.0F : comm->scales[own];
  enqueue_call(*comm, *stream, {.count = count, .type = type},
               {.from = from, .to = to, .scale = scale});
  return 0;
}

int ncclBroadcast(const void* from, void* to, std::size_t count, int type, int root,
                  rubato::NcclComm* comm, rubato::CudaStream* stream) {
  enqueue_call(*comm, *stream, {.count = count, .type = type, .root = root},
               {.from = from, .to = to});
  return 0;
}

int ncclRedOpCreatePreMulSum(int* op, void* scalar, int type, int residence,
                             rubato::NcclComm* comm) {
  if (type != rubato::kNcclFloat32 || residence != rubato::kNcclScalarOnHost) {
    return kInvalidArgument;
  }
  *op = kFirstOwnOperator + static_cast<int>(comm->scales.size());
  comm->scales.push_back(*static_cast<const float*>(scalar));
  return 0;
}

int ncclRedOpDestroy(int op, rubato::NcclComm* /*comm*/) {
  return op >= kFirstOwnOperator ? 0 : kInvalidArgument;
}

const char* ncclGetErrorString(int result) {
  return result == kRemoteError ? "remote error" : "error";
}

int cudaSetDevice(int device) { return device == 0 ? 0 : 101; }

int cudaStreamCreate(rubato::CudaStream** stream) {
  auto made = std::make_unique<rubato::CudaStream>();
  made->thread = std::thread([raw = made.get()] { raw->run(); });
  *stream = made.release();
  return 0;
}

int cudaStreamDestroy(rubato::CudaStream* stream) {
  const std::unique_ptr<rubato::CudaStream> last(stream);
  {
    const std::lock_guard lock(last->mutex);
    last->is_ending = true;
  }
  last->changed.notify_one();
  last->thread.join();
  return 0;
}

int cudaStreamQuery(rubato::CudaStream* stream) {
  const std::lock_guard lock(stream->mutex);
  return stream->is_busy || !stream->work.empty() ? rubato::kCudaNotReady : rubato::kCudaSuccess;
}

int cudaMalloc(void** memory, std::size_t bytes) {
  *memory = std::malloc(std::max<std::size_t>(bytes, 1));
  return *memory == nullptr ? 2 : 0;
}

int cudaFree(void* memory) {
  std::free(memory);
  return 0;
}

int cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int /*kind*/,
                    rubato::CudaStream* stream) {
  stream->enqueue([to, from, bytes] { std::memcpy(to, from, bytes); });
  return 0;
}

int cudaMemsetAsync(void* to, int value, std::size_t bytes, rubato::CudaStream* stream) {
  stream->enqueue([to, value, bytes] { std::memset(to, value, bytes); });
  return 0;
}

const char* cudaGetErrorString(int /*error*/) { return "no such device"; }

}  // extern "C"
// NOLINTEND(readability-identifier-naming,readability-function-size)
