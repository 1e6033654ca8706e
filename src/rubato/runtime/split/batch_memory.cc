#include "rubato/runtime/split/batch_memory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace rubato::runtime::split {
namespace {

Error mapping_failed(const char* what, std::size_t bytes) {
  return Error{.code = ErrorCode::Io,
               .message = fmt::format("cannot {} {} bytes of a batch: {}", what, bytes,
                                      std::strerror(errno))};
}

}  // namespace

std::size_t BatchMemory::page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

Result<BatchMemory> BatchMemory::open(const SharedRegion& region, std::size_t offset,
                                      std::size_t bytes) {
  const std::size_t page = page_bytes();
  const std::size_t whole = (bytes + page - 1) / page * page;
  const auto part = region.part(offset, whole, page, "batch");
  if (!part) {
    return part.error();
  }
  // An old size of zero asks for a second mapping of the same shared pages.
  void* const memory = mremap(part->data(), 0, whole, MREMAP_MAYMOVE);
  if (memory == MAP_FAILED) {
    return mapping_failed("map", whole);
  }
  return BatchMemory(static_cast<std::byte*>(memory), whole);
}

BatchMemory::BatchMemory(BatchMemory&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

BatchMemory& BatchMemory::operator=(BatchMemory&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

BatchMemory::~BatchMemory() {
  if (memory_ != nullptr) {
    munmap(memory_, bytes_);
  }
}

Status BatchMemory::make_private(std::span<const std::byte> contents) {
  if (contents.size() > bytes_) {
    return bad_input(fmt::format("expected at most {} bytes, found {}", bytes_, contents.size()));
  }
  void* const memory =
      mmap(memory_, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (memory == MAP_FAILED) {
    return mapping_failed("make private", bytes_);
  }
  std::ranges::copy(contents, memory_);
  return ok_status();
}

}  // namespace rubato::runtime::split
