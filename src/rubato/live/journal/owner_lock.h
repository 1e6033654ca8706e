// The right to write a file, held by one process at a time and given back by the kernel when that
// process ends, however it ends.
#pragma once

#include <string>
#include <utility>

#include "rubato/base/result.h"

namespace rubato {

/// Held as long as it lives. A file `<path>.owner` with the owner's process id stays behind.
class OwnerLock {
 public:
  /// Fails at once, naming the owner, if another one holds it.
  [[nodiscard]] static Result<OwnerLock> take(const std::string& path);
  OwnerLock(OwnerLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  OwnerLock& operator=(OwnerLock&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  OwnerLock(const OwnerLock&) = delete;
  OwnerLock& operator=(const OwnerLock&) = delete;
  ~OwnerLock();

 private:
  explicit OwnerLock(int file) : file_(file) {}

  int file_;
};

}  // namespace rubato
