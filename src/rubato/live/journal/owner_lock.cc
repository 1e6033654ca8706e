#include "rubato/live/journal/owner_lock.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

namespace rubato {
namespace {

// What the file says about its owner: a process id, if the owner has got so far as to write it.
std::string owner_words(int file) {
  std::array<char, 32> text{};
  const ssize_t count = ::pread(file, text.data(), text.size(), 0);
  const std::string found(text.data(), static_cast<std::size_t>(count < 0 ? 0 : count));
  const std::string digits = found.substr(0, found.find_first_not_of("0123456789"));
  return digits.empty() ? "another process" : fmt::format("process {}", digits);
}

Error owner_error(const std::string& path, int reason) {
  return {.code = ErrorCode::Io,
          .message = fmt::format("{}: {}", path, std::generic_category().message(reason))};
}

}  // namespace

Result<OwnerLock> OwnerLock::take(const std::string& path) {
  const std::string name = path + ".owner";
  OwnerLock lock(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (lock.file_ < 0) {
    return owner_error(name, errno);
  }
  // Not a lock of fcntl: that would let in a second owner of the same process, and would be lost
  // with the first descriptor closed.
  if (::flock(lock.file_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) {
      return owner_error(name, errno);
    }
    return Error{.code = ErrorCode::BadConfig,
                 .message = fmt::format("{}: in use by {}; stop it first, or use another file",
                                        path, owner_words(lock.file_))};
  }
  // The name of the owner is only for that message: a full disk must not keep us from starting.
  const std::string words = fmt::format("{}\n", ::getpid());
  if (::ftruncate(lock.file_, 0) == 0) {
    [[maybe_unused]] const ssize_t written = ::pwrite(lock.file_, words.data(), words.size(), 0);
  }
  return lock;
}

OwnerLock::~OwnerLock() {
  if (file_ >= 0) {
    ::close(file_);
  }
}

}  // namespace rubato
