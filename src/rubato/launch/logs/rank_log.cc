#include "rubato/launch/logs/rank_log.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

namespace rubato {
namespace {

constexpr std::size_t kReadAtOnce = std::size_t{64} << 10U;
constexpr int kReadsPerDrain = 16;    // One megabyte.
constexpr int kReadsToFinish = 1024;  // More than any pipe holds.

Error log_error(std::string_view what) {
  return Error{.code = ErrorCode::Io, .message = fmt::format("{}: {}", what, std::strerror(errno))};
}

}  // namespace

Result<RankLog> RankLog::open(RankLogOptions options) {
  RankLog log(std::move(options));
  if (!log.options_.path.empty()) {
    log.file_ = Descriptor(
        ::open(log.options_.path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    if (!log.file_.is_open()) {
      return log_error(fmt::format("cannot write {}", log.options_.path));
    }
  }
  for (std::size_t stream = 0; stream < log.streams_.size(); ++stream) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
      return log_error("no pipe for the output of a worker");
    }
    log.streams_[stream] = Descriptor(ends[0]);
    log.worker_ends_[stream] = Descriptor(ends[1]);
    // Only our end: a worker does not expect that its output is not ready.
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  }
  return log;
}

// Writes the line, or what fits; after a failure later lines are tried again, because a disk may be
// emptied.
void RankLog::store(std::string_view line) {
  if (!file_.is_open()) {
    return;
  }
  std::string_view rest = line;
  std::string mended;
  if (is_line_torn_) {
    mended = fmt::format("\n{}", line);
    rest = mended;
  }
  const std::size_t whole = rest.size();
  while (!rest.empty()) {
    const ssize_t sent = ::write(file_.get(), rest.data(), rest.size());
    if (sent >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno != EINTR) {
      if (problem_.empty()) {
        problem_ =
            fmt::format("{} does not hold all output: {}", options_.path, std::strerror(errno));
      }
      is_line_torn_ = is_line_torn_ || rest.size() < whole;
      return;
    }
  }
  is_line_torn_ = false;
}

void RankLog::take(std::string_view line, LineEcho* echo) {
  store(line);
  if (options_.on_line) {
    options_.on_line(line);
  }
  if (echo != nullptr) {
    // With a prefix every line stands on its own; without, a progress bar may write over itself.
    const bool ends_alone = line.ends_with('\r') && !options_.prefix.empty();
    echo->write(options_.prefix,
                ends_alone ? fmt::format("{}\n", line.substr(0, line.size() - 1)) : line);
  }
  tail_ += line;
  if (tail_.size() > 2 * options_.tail_max) {
    // Begins with a whole line, if one fits.
    const std::size_t cut = tail_.size() - options_.tail_max;
    const std::size_t end = tail_.find('\n', cut - 1);
    tail_.erase(0, end == std::string::npos || end + 1 == tail_.size() ? cut : end + 1);
  }
}

// True if something was read and the stream goes on.
bool RankLog::read_some(std::size_t stream, LineEcho* echo) {
  Descriptor& from = streams_[stream];
  if (!from.is_open()) {
    return false;
  }
  std::string bytes(kReadAtOnce, '\0');
  const ssize_t got = ::read(from.get(), bytes.data(), bytes.size());
  const auto sink = [&](std::string_view line) { take(line, echo); };
  if (got > 0) {
    cutters_[stream].feed({bytes.data(), static_cast<std::size_t>(got)}, sink);
    return true;
  }
  if (got == 0) {
    cutters_[stream].finish(sink);
    from = Descriptor();
  }
  return got < 0 && errno == EINTR;
}

bool RankLog::drain(const LineEchoes& echoes) {
  bool has_more = true;
  for (int reads = 0; reads < kReadsPerDrain && has_more; ++reads) {
    const bool has_output = read_some(0, echoes.output);
    has_more = read_some(1, echoes.errors) || has_output;
  }
  return has_more;
}

void RankLog::finish(const LineEchoes& echoes) {
  for (std::size_t stream = 0; stream < streams_.size(); ++stream) {
    LineEcho* const echo = stream == 0 ? echoes.output : echoes.errors;
    for (int reads = 0; reads < kReadsToFinish && read_some(stream, echo); ++reads) {
    }
    // Someone who fled from the worker's group may still hold its end; that is not waited for.
    cutters_[stream].finish([&](std::string_view line) { take(line, echo); });
    streams_[stream] = Descriptor();
  }
}

}  // namespace rubato
