// The part of a session that sends answers without a known end.
#include <exception>
#include <utility>

#include <boost/asio/post.hpp>

#include "rubato/http/problem.h"
#include "rubato/http/session.h"
#include "rubato/wire/log_line.h"

namespace rubato {
namespace {

HttpStream::Part next_part(HttpStream& stream, bool is_quiet) {
  try {
    return stream.next(is_quiet);
  } catch (const std::exception& error) {
    log_line(stderr, "http: stream: {}", error.what());
    return {.bytes = {}, .going = HttpStream::Going::Broken};
  }
}

}  // namespace

void HttpSession::begin_stream(HttpReply reply) {
  if (loop_.streams >= loop_.limits.streams_max) {
    answer(problem_reply(503, "too many open streams"));
    return;
  }
  if (loop_.is_draining) {
    answer(problem_reply(503, "the server is being stopped"));
    return;
  }
  ++loop_.streams;
  stream_ = std::move(reply.stream);
  phase_ = Phase::Streaming;
  const auto framing = is_http_1_0_ ? BodyFraming::UntilClose : BodyFraming::Chunks;
  std::string head = reply_head(reply, {.framing = framing, .is_kept_alive = false},
                                std::chrono::system_clock::now());
  write(std::move(head), &HttpSession::open_stream);
  // Only to notice that the client is gone.
  read();
}

// What it returns may be called by any thread, also when the session is gone.
std::function<void()> HttpSession::waker() {
  return [io = loop_.io, weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr || self->is_woken_.exchange(true)) {
      return;
    }
    boost::asio::post(*io, [weak] {
      if (const auto woken = weak.lock()) {
        woken->wake();
      }
    });
  };
}

void HttpSession::open_stream() {
  disarm();
  is_pulling_ = true;
  boost::asio::post(loop_.workers, [self = shared_from_this(), stream = stream_]() mutable {
    stream->open(self->waker());
    const auto io = self->loop_.io;
    boost::asio::post(*io, [self = std::move(self)] {
      self->is_pulling_ = false;
      if (self->phase_ == Phase::Streaming) {
        self->pull(/*is_quiet=*/false);
      }
    });
  });
}

void HttpSession::wake() {
  is_woken_ = false;
  if (phase_ != Phase::Streaming) {
    return;
  }
  if (is_pulling_ || is_writing_) {
    has_news_ = true;
  } else {
    pull(/*is_quiet=*/false);
  }
}

void HttpSession::pull(bool is_quiet) {
  disarm();
  is_pulling_ = true;
  has_news_ = false;
  boost::asio::post(
      loop_.workers, [self = shared_from_this(), stream = stream_, is_quiet]() mutable {
        HttpStream::Part part = next_part(*stream, is_quiet);
        const auto io = self->loop_.io;
        boost::asio::post(*io, [self = std::move(self), part = std::move(part)]() mutable {
          self->is_pulling_ = false;
          if (self->phase_ == Phase::Streaming) {
            self->on_part(std::move(part));
          }
        });
      });
}

void HttpSession::on_part(HttpStream::Part part) {
  going_ = part.going;
  had_bytes_ = !part.bytes.empty();
  if (had_bytes_) {
    write(is_http_1_0_ ? std::move(part.bytes) : chunk(part.bytes), &HttpSession::after_part);
  } else {
    after_part();
  }
}

void HttpSession::after_part() {
  disarm();
  if (going_ == HttpStream::Going::Broken) {
    close();
  } else if (going_ == HttpStream::Going::Over) {
    end_stream();
    if (is_http_1_0_) {
      linger();
    } else {
      phase_ = Phase::Writing;
      write(std::string(kLastChunk), &HttpSession::linger);
    }
  } else if (had_bytes_ || has_news_) {
    pull(/*is_quiet=*/false);
  } else {
    arm(stream_->pause());
  }
}

// Streams let go of the platform when they end, which may block: workers see to it.
void HttpSession::end_stream() {
  if (stream_ != nullptr) {
    --loop_.streams;
    boost::asio::post(loop_.workers, [stream = std::move(stream_)] {});
    stream_ = nullptr;
  }
}

}  // namespace rubato
