#include "rubato/cli/client/log_follower.h"

#include <thread>
#include <utility>

#include <fmt/format.h>

namespace rubato {

LogFollower::LogFollower(WebOptions options, std::string job, std::uint64_t from, Duration give_up)
    : options_(std::move(options)), job_(std::move(job)), next_(from), absence_(give_up) {}

std::string LogFollower::read(Duration patience) {
  if (is_over_ || failure_) {
    std::this_thread::sleep_for(patience);
    return {};
  }
  if (!stream_) {
    auto opened = WebStream::open(
        options_, {.target = job_target(job_, fmt::format("/logs?from={}&follow=1", next_))});
    if (!opened) {
      lose(opened.error(), patience);
      return {};
    }
    if (const int status = opened->head().status; status < 200 || status >= 300) {
      const CallFailure failure = failure_of(opened->head());
      if (status == 503) {
        lose({.code = ErrorCode::Io, .message = failure.message}, patience);
      } else {
        failure_ = failure;
      }
      return {};
    }
    absence_.end();
    stream_ = std::move(*opened);
  }
  auto text = stream_->read(patience);
  if (!text) {
    stream_.reset();
    lose(text.error(), patience);
    return {};
  }
  next_ += text->size();
  is_over_ = stream_->is_over();
  return *std::move(text);
}

void LogFollower::lose(const Error& error, Duration patience) {
  if (absence_.is_too_long()) {
    failure_ = failure_of(error);
    return;
  }
  std::this_thread::sleep_for(patience);
}

}  // namespace rubato
