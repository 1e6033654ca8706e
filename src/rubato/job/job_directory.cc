#include "rubato/job/job_directory.h"

#include <cstdlib>
#include <fcntl.h>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace rubato {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "rubato-";
constexpr std::string_view kPattern = "XXXXXX";
constexpr const char* kOwner = "owner";

// A lock ends with its process, whoever kills that, and unlike a process's number it means the same
// in every container that shares the directory.
Descriptor lock(const fs::path& path, int flags) {
  Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600));
  if (file.is_open() && ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    return Descriptor();
  }
  return file;
}

// True for a directory of our user that is named as ours are.
bool may_be_ours(const fs::path& path) {
  const std::string name = path.filename();
  struct stat status {};
  return name.starts_with(kPrefix) && name.size() == kPrefix.size() + kPattern.size() &&
         ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid();
}

// Removes the directories of jobs that were killed.
void sweep(const fs::path& temporary) {
  std::error_code ignored;
  for (fs::directory_iterator entry(temporary, ignored), end; entry != end;
       entry.increment(ignored)) {
    if (may_be_ours(entry->path())) {
      const Descriptor owner = lock(entry->path() / kOwner, 0);
      if (owner.is_open()) {
        std::error_code partly;
        fs::remove_all(entry->path(), partly);
      }
    }
  }
}

// The lock is taken before the file has its name, lest another one sweeps what we are making.
Descriptor own(const fs::path& directory) {
  const fs::path unnamed = directory / "owner.new";
  Descriptor owner = lock(unnamed, O_CREAT | O_EXCL);
  if (owner.is_open() && ::rename(unnamed.c_str(), (directory / kOwner).c_str()) != 0) {
    return Descriptor();
  }
  return owner;
}

}  // namespace

Result<JobDirectory> JobDirectory::open(const std::string& wanted, const fs::path& temporary) {
  JobDirectory made;
  if (!wanted.empty()) {
    std::error_code failure;
    fs::create_directories(wanted, failure);
    if (failure) {
      return Error{.code = ErrorCode::Io,
                   .message = fmt::format("cannot use {}: {}", wanted, failure.message())};
    }
    made.path_ = wanted;
    return made;
  }
  if (temporary.empty()) {
    return Error{.code = ErrorCode::Io, .message = "there is no folder for temporary files"};
  }
  sweep(temporary);
  std::string pattern = temporary / fmt::format("{}{}", kPrefix, kPattern);
  if (::mkdtemp(pattern.data()) == nullptr) {
    return Error{.code = ErrorCode::Io,
                 .message = fmt::format("cannot make the directory {}", pattern)};
  }
  made.path_ = pattern;
  made.owner_ = own(pattern);
  if (!made.owner_.is_open()) {
    std::error_code ignored;
    fs::remove_all(pattern, ignored);
    return Error{.code = ErrorCode::Io, .message = fmt::format("cannot write to {}", pattern)};
  }
  return made;
}

JobDirectory::JobDirectory(JobDirectory&& other) noexcept
    : path_(std::move(other.path_)), owner_(std::move(other.owner_)) {}

JobDirectory::~JobDirectory() {
  if (owner_.is_open()) {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
}

}  // namespace rubato
