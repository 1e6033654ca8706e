#include "rubato/runtime/shared_memory/arena.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
namespace rubato {
namespace {

// Parameters and slots start on pages, so that no two of them share a cache line and copies run
// at full speed.
constexpr std::size_t kPage = 4096;
constexpr std::uint64_t kArenaMagic = 0x52'75'62'61'74'6f'41'31;  // "RubatoA1"
// Half of the address space: sums of two such sizes do not overflow.
constexpr std::size_t kArenaBytesMax = std::numeric_limits<std::size_t>::max() / 4;

/// The first page of an arena: what a peer must find before it believes the rest.
struct ArenaHeader {
  std::uint64_t magic = kArenaMagic;
  std::uint64_t parameter_bytes = 0;
  std::uint64_t floats = 0;
  std::uint64_t slots = 0;
};

/// Bytes rounded up to whole pages.
std::size_t in_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

/// Room behind a slot.
std::size_t tail_floats(const ArenaLayout& layout) {
  return layout.slots == 1 ? kArenaTailFloats : 0;
}

/// Bytes from one slot to the next.
std::size_t slot_stride(const ArenaLayout& layout) {
  return in_pages((layout.floats + tail_floats(layout)) * sizeof(float));
}

/// Where the slots begin.
std::size_t slots_offset(const ArenaLayout& layout) {
  return kPage + in_pages(layout.parameter_bytes);
}

/// Size of the whole arena; an error if there can be no such arena.
Result<std::size_t> arena_bytes(const ArenaLayout& layout) {
  if (layout.slots == 0) {
    return bad_input("an arena needs at least one gradient slot, found 0");
  }
  if (layout.parameter_bytes > kArenaBytesMax || layout.floats > kArenaBytesMax / sizeof(float)) {
    return bad_input("an arena of that many bytes cannot be addressed");
  }
  const std::size_t stride = slot_stride(layout);
  if (stride > 0 && layout.slots > kArenaBytesMax / stride) {
    return bad_input(fmt::format("{} gradient slots of {} floats cannot be addressed", layout.slots,
                                 layout.floats));
  }
  return slots_offset(layout) + layout.slots * stride;
}

/// What the system said when a call on an arena failed.
Error system_error(const char* what) {
  const int number = errno;
  return Error{.code = ErrorCode::Io,
               .message = fmt::format("arena: {}: {}", what, std::strerror(number))};
}

/// Maps all of a file for reading and writing.
Result<std::byte*> mapping_of(int descriptor, std::size_t bytes) {
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, /*offset=*/0);
  if (memory == MAP_FAILED) {
    return system_error("mmap");
  }
  return static_cast<std::byte*>(memory);
}

}  // namespace

Result<Arena> Arena::create(const ArenaLayout& layout) {
  const Result<std::size_t> bytes = arena_bytes(layout);
  if (!bytes) {
    return bytes.error();
  }
  Arena arena;
  arena.descriptor_ = memfd_create("rubato-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (arena.descriptor_ < 0) {
    return system_error("memfd_create");
  }
  if (ftruncate(arena.descriptor_, static_cast<off_t>(*bytes)) != 0) {
    return system_error("ftruncate");
  }
  // A peer that has mapped the file must never find it shorter.
  if (fcntl(arena.descriptor_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    return system_error("sealing");
  }
  const Result<std::byte*> memory = mapping_of(arena.descriptor_, *bytes);
  if (!memory) {
    return memory.error();
  }
  const ArenaHeader header{
      .parameter_bytes = layout.parameter_bytes, .floats = layout.floats, .slots = layout.slots};
  std::memcpy(*memory, &header, sizeof(header));
  arena.layout_ = layout;
  arena.memory_ = *memory;
  arena.bytes_ = *bytes;
  return arena;
}

Result<Arena> Arena::map(int descriptor) {
  struct stat file {};
  if (fstat(descriptor, &file) != 0) {
    return system_error("fstat");
  }
  const auto bytes = static_cast<std::size_t>(file.st_size);
  if (file.st_size < static_cast<off_t>(kPage)) {
    return bad_input(
        fmt::format("arena: expected at least {} bytes of a peer, found {}", kPage, file.st_size));
  }
  const Result<std::byte*> memory = mapping_of(descriptor, bytes);
  if (!memory) {
    return memory.error();
  }
  Arena arena;
  arena.memory_ = *memory;
  arena.bytes_ = bytes;
  ArenaHeader header;
  std::memcpy(&header, *memory, sizeof(header));
  if (header.magic != kArenaMagic) {
    return bad_input(fmt::format("arena: the memory of a peer opens with {:#x}, expected {:#x}",
                                 header.magic, kArenaMagic));
  }
  arena.layout_ = {
      .parameter_bytes = header.parameter_bytes, .floats = header.floats, .slots = header.slots};
  const Result<std::size_t> expected = arena_bytes(arena.layout_);
  if (!expected) {
    return expected.error();
  }
  if (*expected != bytes) {
    return bad_input(
        fmt::format("arena: the layout of a peer needs {} bytes, found {}", *expected, bytes));
  }
  return arena;
}

Arena::Arena(Arena&& other) noexcept
    : layout_(std::exchange(other.layout_, ArenaLayout{})),
      memory_(std::exchange(other.memory_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(layout_, other.layout_);
  std::swap(memory_, other.memory_);
  std::swap(bytes_, other.bytes_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Arena::~Arena() {
  if (memory_ != nullptr) {
    munmap(memory_, bytes_);
  }
  if (descriptor_ >= 0) {
    close(descriptor_);
  }
}

std::span<std::byte> Arena::parameters() const { return at(kPage, layout_.parameter_bytes); }

std::span<float> Arena::slot(std::size_t index) const {
  RUBATO_CHECK(memory_ != nullptr && index < layout_.slots);
  std::byte* const start = memory_ + slots_offset(layout_) + index * slot_stride(layout_);
  // Pages of a mapping are aligned for every type, and floats begin to live when written.
  return {static_cast<float*>(static_cast<void*>(start)), layout_.floats};
}

std::span<float> Arena::slot_and_tail() const {
  return {slot(0).data(), layout_.floats + tail_floats(layout_)};
}

bool Arena::holds(std::span<const std::byte> bytes) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory_);
  const auto first = reinterpret_cast<std::uintptr_t>(bytes.data());
  return memory_ != nullptr && first >= begin && first - begin <= bytes_ &&
         bytes.size() <= bytes_ - (first - begin);
}

std::size_t Arena::offset_of(std::span<const std::byte> bytes) const {
  RUBATO_CHECK(holds(bytes));
  return static_cast<std::size_t>(bytes.data() - memory_);
}

std::span<std::byte> Arena::at(std::size_t offset, std::size_t bytes) const {
  RUBATO_CHECK(offset <= bytes_ && bytes <= bytes_ - offset);
  return {memory_ + offset, bytes};
}

}  // namespace rubato
