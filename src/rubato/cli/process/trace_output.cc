#include "rubato/cli/process/trace_output.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace rubato {

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {}

OutputFile::~OutputFile() {
  if (file_ == nullptr || file_ == stdout) {
    return;
  }
  std::fclose(file_);
  if (written_path_ != path_) {
    std::remove(written_path_.c_str());
  }
}

Status OutputFile::open() {
  if (path_ == "-") {
    file_ = stdout;
    return ok_status();
  }
  std::error_code ignored;
  const bool is_plain =
      !std::filesystem::exists(path_, ignored) || std::filesystem::is_regular_file(path_, ignored);
  written_path_ = is_plain ? path_ + "." + std::to_string(getpid()) + ".part" : path_;
  file_ = std::fopen(written_path_.c_str(), "wb");
  return file_ != nullptr ? ok_status() : Status(failed("cannot be written"));
}

void OutputFile::write(std::string_view text) {
  has_failed_ = has_failed_ || std::fwrite(text.data(), 1, text.size(), file_) != text.size();
}

Status OutputFile::commit() {
  has_failed_ = std::fflush(file_) != 0 || has_failed_;
  if (file_ == stdout) {
    return has_failed_ ? Status(failed("cannot be written")) : ok_status();
  }
  // Before the rename, so that a crash cannot leave an empty file under the final name.
  const bool is_temporary = written_path_ != path_;
  has_failed_ = (is_temporary && fsync(fileno(file_)) != 0) || has_failed_;
  const Error unwritten = failed("cannot be written");
  has_failed_ = std::fclose(std::exchange(file_, nullptr)) != 0 || has_failed_;
  if (has_failed_) {
    if (is_temporary) {
      std::remove(written_path_.c_str());
    }
    return unwritten;
  }
  if (is_temporary && std::rename(written_path_.c_str(), path_.c_str()) != 0) {
    const Error unrenamed = failed("cannot be replaced");
    std::remove(written_path_.c_str());
    return unrenamed;
  }
  return ok_status();
}

Error OutputFile::failed(const char* what) const {
  return Error{.code = ErrorCode::Io, .message = path_ + ": " + what + ": " + std::strerror(errno)};
}

}  // namespace rubato
