// Where a verb writes its result: a file that appears whole or not at all, or standard output.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "rubato/base/result.h"

namespace rubato {

/// Writes beside the target and renames on commit; without a commit nothing is left behind. A
/// target that is not a plain file (a device, a pipe) is written directly, as is `-`, standard
/// output.
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  Status open();
  /// Errors are kept and come out of commit(): nobody has to look after every line.
  void write(std::string_view text);
  Status commit();

 private:
  Error failed(const char* what) const;

  std::string path_;
  std::string written_path_;  // The temporary file, or the target itself.
  std::FILE* file_ = nullptr;
  bool has_failed_ = false;
};

}  // namespace rubato
