// Where a job of `rubato train` keeps its socket, its logs and its snapshots.
#pragma once

#include <filesystem>
#include <string>

#include "rubato/base/result.h"
#include "rubato/wire/descriptor.h"

namespace rubato {

/// A directory that is gone with the object, unless it was the user's. If our process is killed,
/// the next one that makes such a directory beside it takes it away.
class JobDirectory {
 public:
  /// The one that the user wants, or if that is empty a new one in `temporary`.
  [[nodiscard]] static Result<JobDirectory> open(const std::string& wanted,
                                                 const std::filesystem::path& temporary);

  JobDirectory(JobDirectory&& other) noexcept;
  JobDirectory& operator=(JobDirectory&&) = delete;
  JobDirectory(const JobDirectory&) = delete;
  JobDirectory& operator=(const JobDirectory&) = delete;
  ~JobDirectory();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  JobDirectory() = default;

  std::string path_{};
  Descriptor owner_{};  // Locked as long as we live; closed: the directory is the user's.
};

}  // namespace rubato
