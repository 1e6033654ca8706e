#include "rubato/runtime/script/snapshot_buffers.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "rubato/wire/snapshot_file.h"

namespace rubato::runtime::script {
namespace {

Error memory_error(std::string_view doing, std::size_t bytes) {
  return Error{.code = ErrorCode::Io,
               .message = fmt::format("cannot {} a snapshot of {} bytes: {}", doing, bytes,
                                      std::strerror(errno))};
}

Result<std::byte*> mapped_memory(int memory, std::size_t bytes, int protection) {
  void* const mapped = ::mmap(nullptr, bytes, protection, MAP_SHARED, memory, 0);
  if (mapped == MAP_FAILED) {
    return memory_error("map", bytes);
  }
  return static_cast<std::byte*>(mapped);
}

}  // namespace

std::vector<int> SnapshotBuffers::descriptors() const {
  std::vector<int> found;
  for (const Slot& slot : slots_) {
    found.push_back(slot.memory.get());
  }
  return found;
}

void SnapshotBuffers::clear() {
  for (const Slot& slot : slots_) {
    ::munmap(slot.mapped, slot.bytes);
  }
  slots_.clear();
}

// A free slot that is large enough; a new one in its place, or at the end, if there is none.
Result<std::uint32_t> SnapshotBuffers::take(std::size_t bytes) {
  std::size_t index = slots_.size();
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].is_free && slots_[i].bytes >= bytes) {
      return static_cast<std::uint32_t>(i);
    }
    index = slots_[i].is_free ? i : index;
  }
  Slot slot{.memory = Descriptor(::memfd_create("rubato-script-snapshot", MFD_CLOEXEC))};
  slot.bytes = bytes + bytes / 8;  // Later ones may be a little longer.
  if (!slot.memory.is_open() ||
      ::ftruncate(slot.memory.get(), static_cast<off_t>(slot.bytes)) != 0) {
    return memory_error("make room for", bytes);
  }
  auto mapped = mapped_memory(slot.memory.get(), slot.bytes, PROT_READ | PROT_WRITE);
  if (!mapped) {
    return mapped.error();
  }
  slot.mapped = *mapped;
  if (index == slots_.size()) {
    slots_.push_back(std::move(slot));
  } else {
    ::munmap(slots_[index].mapped, slots_[index].bytes);
    slots_[index] = std::move(slot);
  }
  return static_cast<std::uint32_t>(index);
}

Result<WrittenBuffer> SnapshotBuffers::write(std::uint64_t step, std::span<const std::byte> state) {
  const std::array<std::size_t, 1> sizes{state.size()};
  const auto index = take(snapshot_bytes(sizes));
  if (!index) {
    return index.error();
  }
  Slot& slot = slots_[*index];
  const auto written =
      encode_snapshot({.cursor = {.step = step}, .sections = {state}}, {slot.mapped, slot.bytes});
  if (!written) {
    return written.error();
  }
  slot.is_free = false;
  return WrittenBuffer{.slot = *index, .memory = slot.memory.get(), .bytes = *written};
}

void SnapshotBuffers::release(std::uint32_t slot) {
  if (slot < slots_.size()) {
    slots_[slot].is_free = true;
  }
}

Result<std::string> read_state(int memory, std::size_t bytes) {
  const auto mapped = mapped_memory(memory, bytes, PROT_READ);
  if (!mapped) {
    return mapped.error();
  }
  Result<std::string> state = bad_input("the snapshot is not one of a script");
  if (const auto snapshot = decode_snapshot({*mapped, bytes}); !snapshot) {
    state = snapshot.error();
  } else if (snapshot->sections.size() == 1) {
    const std::span<const std::byte> section = snapshot->sections.front();
    state = std::string(reinterpret_cast<const char*>(section.data()), section.size());  // NOLINT
  }
  ::munmap(*mapped, bytes);
  return state;
}

}  // namespace rubato::runtime::script
