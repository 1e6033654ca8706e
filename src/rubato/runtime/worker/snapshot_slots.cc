#include "rubato/runtime/worker/snapshot_slots.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>

#include "rubato/wire/snapshot_file.h"

namespace rubato {
namespace {

// The sections of a worker's snapshot.
constexpr std::size_t kParameters = 0;
constexpr std::size_t kBatchSize = 1;
constexpr std::size_t kRest = 2;
constexpr std::size_t kSections = 3;

// Maps memory, for reading alone or also for writing.
Result<std::byte*> map(int memory, std::size_t bytes, int protection) {
  void* const mapped = ::mmap(nullptr, bytes, protection, MAP_SHARED, memory, 0);
  if (mapped == MAP_FAILED) {
    return Error{.code = ErrorCode::Io,
                 .message = fmt::format("cannot map a snapshot of {} bytes: {}", bytes,
                                        std::strerror(errno))};
  }
  return static_cast<std::byte*>(mapped);
}

// Takes over what a decoded snapshot holds.
Result<SnapshotState> unpack(const Snapshot& snapshot, Arena& arena) {
  const std::span<std::byte> parameters = arena.parameters();
  if (snapshot.sections.size() != kSections ||
      snapshot.sections[kBatchSize].size() != sizeof(SnapshotState::batch)) {
    return bad_input("the snapshot is not one of a worker");
  }
  if (snapshot.sections[kParameters].size() != parameters.size()) {
    return bad_input(fmt::format("the snapshot has {} bytes of parameters, the model {}",
                                 snapshot.sections[kParameters].size(), parameters.size()));
  }
  SnapshotState state{.cursor = snapshot.cursor};
  std::memcpy(&state.batch, snapshot.sections[kBatchSize].data(), sizeof(state.batch));
  const std::span<const std::byte> rest = snapshot.sections[kRest];
  state.rest.resize(rest.size());
  std::ranges::copy(rest, std::as_writable_bytes(std::span(state.rest)).begin());
  std::ranges::copy(snapshot.sections[kParameters], parameters.begin());
  return state;
}

}  // namespace

SnapshotSlots::~SnapshotSlots() {
  for (const Slot& slot : slots_) {
    if (slot.mapped != nullptr) {
      ::munmap(slot.mapped, slot.bytes);
    }
  }
}

// A free slot that is large enough; a new one if there is none.
Result<std::uint32_t> SnapshotSlots::take(std::size_t bytes) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].is_free && slots_[i].bytes >= bytes) {
      return static_cast<std::uint32_t>(i);
    }
  }
  Slot slot{.memory = Descriptor(::memfd_create("rubato-snapshot", MFD_CLOEXEC))};
  slot.bytes = bytes + bytes / 8;  // Later ones may be a little longer.
  if (!slot.memory.is_open() ||
      ::ftruncate(slot.memory.get(), static_cast<off_t>(slot.bytes)) != 0) {
    return Error{.code = ErrorCode::Io,
                 .message = fmt::format("no memory for a snapshot of {} bytes: {}", bytes,
                                        std::strerror(errno))};
  }
  auto mapped = map(slot.memory.get(), slot.bytes, PROT_READ | PROT_WRITE);
  if (!mapped) {
    return mapped.error();
  }
  slot.mapped = *mapped;
  slots_.push_back(std::move(slot));
  return static_cast<std::uint32_t>(slots_.size() - 1);
}

Result<WrittenSnapshot> SnapshotSlots::write(const SnapshotState& state, const Arena& arena) {
  const Snapshot snapshot{
      .cursor = state.cursor,
      .sections = {arena.parameters(), std::as_bytes(std::span(&state.batch, 1)),
                   std::as_bytes(std::span(state.rest))}};
  std::array<std::size_t, kSections> sizes{};
  std::ranges::transform(snapshot.sections, sizes.begin(),
                         [](const auto& section) { return section.size(); });
  const auto index = take(snapshot_bytes(sizes));
  if (!index) {
    return index.error();
  }
  Slot& slot = slots_[*index];
  const auto written = encode_snapshot(snapshot, {slot.mapped, slot.bytes});
  if (!written) {
    return written.error();
  }
  slot.is_free = false;
  return WrittenSnapshot{.slot = *index, .memory = slot.memory.get(), .bytes = *written};
}

void SnapshotSlots::release(std::uint32_t slot) {
  if (slot < slots_.size()) {
    slots_[slot].is_free = true;
  }
}

Result<SnapshotState> read_snapshot(int memory, std::size_t bytes, Arena& arena) {
  const auto mapped = map(memory, bytes, PROT_READ);
  if (!mapped) {
    return mapped.error();
  }
  const auto snapshot = decode_snapshot({*mapped, bytes});
  auto state = snapshot ? unpack(*snapshot, arena) : Result<SnapshotState>(snapshot.error());
  ::munmap(*mapped, bytes);
  return state;
}

}  // namespace rubato
