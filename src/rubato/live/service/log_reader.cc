#include "rubato/live/service/log_reader.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

namespace rubato {
namespace {

Error log_error(const std::string& path, int reason) {
  return {.code = ErrorCode::Io,
          .message = fmt::format("{}: {}", path, std::generic_category().message(reason))};
}

/// Closes the file on every way out.
struct OpenLog {
  explicit OpenLog(int opened) : file(opened) {}
  OpenLog(const OpenLog&) = delete;
  OpenLog& operator=(const OpenLog&) = delete;
  ~OpenLog() {
    if (file >= 0) {
      ::close(file);
    }
  }

  int file;
};

// Fills `text` from a byte on; shortens it if the file has become shorter. Zero, or an errno.
int read_exactly(int file, std::uint64_t from, std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count =
        ::pread(file, text.data() + done, text.size() - done, static_cast<off_t>(from + done));
    if (count < 0 && errno != EINTR) {
      return errno;
    }
    if (count == 0) {
      break;
    }
    done += static_cast<std::size_t>(std::max<ssize_t>(count, 0));
  }
  text.resize(done);
  return 0;
}

// How much of the text is handed over.
std::size_t whole_lines(const std::string& text, bool is_last, bool is_full) {
  if (is_last) {
    return text.size();
  }
  const std::size_t end = text.rfind('\n');
  if (end != std::string::npos) {
    return end + 1;
  }
  return is_full ? text.size() : 0;
}

}  // namespace

Result<LogExcerpt> read_log(const std::string& path, const LogQuery& query) {
  const OpenLog log(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (log.file < 0) {
    if (errno == ENOENT) {
      return LogExcerpt{};
    }
    return log_error(path, errno);
  }
  struct stat status {};
  if (::fstat(log.file, &status) != 0) {
    return log_error(path, errno);
  }
  if (!S_ISREG(status.st_mode)) {
    return Error{.code = ErrorCode::Io, .message = fmt::format("{}: not a plain file", path)};
  }
  LogExcerpt excerpt{.size = static_cast<std::uint64_t>(status.st_size)};
  const std::uint64_t from = std::min(query.from, excerpt.size);
  excerpt.text.resize(std::min<std::uint64_t>(query.bytes_max, excerpt.size - from));
  if (const int reason = read_exactly(log.file, from, excerpt.text); reason != 0) {
    return log_error(path, reason);
  }
  const bool is_last = query.is_ended && from + excerpt.text.size() >= excerpt.size;
  const bool is_full = excerpt.text.size() == query.bytes_max;
  excerpt.text.resize(whole_lines(excerpt.text, is_last, is_full));
  excerpt.next = from + excerpt.text.size();
  return excerpt;
}

}  // namespace rubato
