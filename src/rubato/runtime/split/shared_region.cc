#include "rubato/runtime/split/shared_region.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace rubato::runtime::split {

Result<SharedRegion> SharedRegion::create(std::size_t bytes) { return map(-1, bytes); }

Result<SharedRegion> SharedRegion::map(int descriptor, std::size_t bytes) {
  if (bytes == 0) {
    return bad_input("a shared region must have at least one byte");
  }
  // Without a reservation a generous size is free: only what is written counts as memory.
  const int kind = descriptor < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kind | MAP_NORESERVE, descriptor, 0);
  if (memory == MAP_FAILED) {
    return Error{.code = ErrorCode::Io,
                 .message = "cannot map " + std::to_string(bytes) +
                            " bytes of shared memory: " + std::strerror(errno)};
  }
  return SharedRegion(static_cast<std::byte*>(memory), bytes);
}

SharedRegion::SharedRegion(SharedRegion&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

SharedRegion& SharedRegion::operator=(SharedRegion&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

SharedRegion::~SharedRegion() {
  if (memory_ != nullptr) {
    ::munmap(memory_, bytes_);
  }
}

Result<std::span<std::byte>> SharedRegion::part(std::size_t offset, std::size_t bytes,
                                                std::size_t alignment, const char* user) const {
  if (offset > bytes_ || bytes > bytes_ - offset) {
    return bad_input(std::string(user) + " needs " + std::to_string(bytes) + " bytes from offset " +
                     std::to_string(offset) + " on, but the region has " + std::to_string(bytes_));
  }
  if (offset % alignment != 0) {
    return bad_input(std::string(user) + " must begin at a multiple of " +
                     std::to_string(alignment) + ", found offset " + std::to_string(offset));
  }
  return std::span<std::byte>(memory_ + offset, bytes);
}

Status SharedRegion::discard(std::size_t offset, std::size_t bytes) const {
  const auto range = part(offset, bytes, 1, "discard");
  if (!range) {
    return range.error();
  }
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t begin = (offset + page - 1) / page * page;
  const std::size_t end = (offset + bytes) / page * page;
  if (begin < end && ::madvise(memory_ + begin, end - begin, MADV_REMOVE) != 0) {
    return Error{.code = ErrorCode::Io,
                 .message = "cannot give back " + std::to_string(end - begin) +
                            " bytes of shared memory: " + std::strerror(errno)};
  }
  return ok_status();
}

}  // namespace rubato::runtime::split
