#include "rubato/runtime/shared_memory/shm_meeting.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <sys/stat.h>
#include <utility>

#include <fmt/format.h>

#include "rubato/runtime/shared_memory/shm_communicator.h"

namespace rubato {

static_assert(sizeof(Meeting) <= kMeetingBytes);

Result<MeetingMap> MeetingMap::open(int descriptor) {
  struct stat file {};
  if (fstat(descriptor, &file) != 0) {
    const int number = errno;
    return Error{.code = ErrorCode::Io,
                 .message = fmt::format("meeting memory: fstat: {}", std::strerror(number))};
  }
  if (file.st_size < static_cast<off_t>(kMeetingBytes)) {
    return bad_input(
        fmt::format("meeting memory: expected {} bytes, found {}", kMeetingBytes, file.st_size));
  }
  void* const memory =
      mmap(nullptr, kMeetingBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, /*offset=*/0);
  if (memory == MAP_FAILED) {
    const int number = errno;
    return Error{.code = ErrorCode::Io,
                 .message = fmt::format("meeting memory: mmap: {}", std::strerror(number))};
  }
  return MeetingMap{static_cast<Meeting*>(memory)};
}

MeetingMap::MeetingMap(MeetingMap&& other) noexcept
    : meeting_(std::exchange(other.meeting_, nullptr)) {}

MeetingMap& MeetingMap::operator=(MeetingMap&& other) noexcept {
  std::swap(meeting_, other.meeting_);
  return *this;
}

MeetingMap::~MeetingMap() {
  if (meeting_ != nullptr) {
    munmap(meeting_, kMeetingBytes);
  }
}

}  // namespace rubato
