#include "rubato/http/session.h"

#include <exception>
#include <utility>

#include <boost/asio/post.hpp>

#include "rubato/http/problem.h"
#include "rubato/wire/log_line.h"

namespace rubato {
namespace {

namespace asio = boost::asio;

HttpReply handled(const HttpHandler& handler, const HttpRequest& request) {
  try {
    return handler(request);
  } catch (const std::exception& error) {
    // Without the query, into which somebody may have put a token.
    const std::string path = request.target.substr(0, request.target.find('?'));
    log_line(stderr, "http: {} {}: {}", request.method, path, error.what());
    return problem_reply(500, "an error of ours: see the server's log");
  }
}

}  // namespace

HttpSession::HttpSession(HttpLoop& loop, std::unique_ptr<HttpSocket> socket)
    : loop_(loop), socket_(std::move(socket)), timer_(*loop.io) {}

void HttpSession::start() {
  arm(loop_.limits.head);
  socket_->handshake([self = shared_from_this()](bool is_ok, std::size_t) {
    if (self->phase_ == Phase::Handshake && is_ok) {
      self->await_request();
    } else {
      self->close();
    }
  });
}

void HttpSession::drain() {
  if (phase_ == Phase::Handshake || phase_ == Phase::Idle || phase_ == Phase::Streaming) {
    close();
  }
}

void HttpSession::close() {
  if (phase_ == Phase::Closed) {
    return;
  }
  phase_ = Phase::Closed;
  timer_.cancel();
  socket_->close();
  end_stream();
  loop_.sessions.erase(shared_from_this());
  if (loop_.is_draining && loop_.sessions.empty()) {
    loop_.emptied();
  }
}

void HttpSession::arm(std::chrono::milliseconds limit) {
  timer_.expires_after(limit);
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    // A wait that ended just before the timer was set anew is not the deadline.
    if (!error && self->timer_.expiry() <= std::chrono::steady_clock::now()) {
      self->on_deadline();
    }
  });
}

void HttpSession::disarm() { timer_.expires_at(std::chrono::steady_clock::time_point::max()); }

void HttpSession::on_deadline() {
  if (phase_ == Phase::Head || phase_ == Phase::Body) {
    refuse(408, "the request did not arrive in time");
  } else if (phase_ == Phase::Streaming && !is_writing_) {
    pull(/*is_quiet=*/true);
  } else {
    close();
  }
}

void HttpSession::await_request() {
  if (loop_.is_draining) {
    linger();
    return;
  }
  parser_.emplace(loop_.limits);
  phase_ = Phase::Idle;
  if (input_.empty()) {
    arm(loop_.limits.idle);
    read();
  } else {
    parse();
  }
}

void HttpSession::read() {
  is_reading_ = true;
  socket_->read_some(chunk_, [self = shared_from_this()](bool is_ok, std::size_t bytes) {
    self->is_reading_ = false;
    self->on_read(is_ok, bytes);
  });
}

void HttpSession::on_read(bool is_ok, std::size_t bytes) {
  if (!is_ok) {
    if (phase_ != Phase::Writing) {
      close();
    }
    return;
  }
  if (phase_ == Phase::Idle || phase_ == Phase::Head || phase_ == Phase::Body) {
    input_.append(chunk_.data(), bytes);
    parse();
  } else if (phase_ == Phase::Streaming || phase_ == Phase::Lingering) {
    read();
  }
}

void HttpSession::parse() {
  switch (parser_->take_from(input_)) {
    case HttpParser::Step::More:
      go_on_reading();
      return;
    case HttpParser::Step::Complete:
      handle();
      return;
    case HttpParser::Step::Bad:
      refuse(parser_->status(), parser_->problem());
      return;
  }
}

void HttpSession::go_on_reading() {
  const bool is_new_body = parser_->has_head() && phase_ != Phase::Body;
  if (is_new_body) {
    phase_ = Phase::Body;
    arm(loop_.limits.body);
  } else if (phase_ == Phase::Idle) {
    phase_ = Phase::Head;
    arm(loop_.limits.head);
  }
  if (is_new_body && parser_->waits_for_continue()) {
    output_ = "HTTP/1.1 100 Continue\r\n\r\n";
    is_writing_ = true;
    socket_->write(output_, [self = shared_from_this()](bool is_ok, std::size_t) {
      self->is_writing_ = false;
      if (!is_ok) {
        self->close();
      } else if (self->phase_ == Phase::Body) {
        self->read();
      }
    });
    return;
  }
  read();
}

void HttpSession::handle() {
  phase_ = Phase::Handling;
  disarm();
  HttpRequest request = parser_->request();
  request.is_tls = socket_->is_tls();
  request.received = std::chrono::steady_clock::now();
  is_kept_alive_ = request.is_kept_alive;
  is_head_only_ = request.method == "HEAD";
  is_http_1_0_ = request.is_http_1_0;
  asio::post(loop_.workers, [self = shared_from_this(), request = std::move(request)]() mutable {
    HttpReply reply = handled(self->loop_.handler, request);
    const auto io = self->loop_.io;
    // The session moves along: its last owner must not be a worker.
    asio::post(*io, [self = std::move(self), reply = std::move(reply)]() mutable {
      if (self->phase_ == Phase::Handling) {
        self->answer(std::move(reply));
      }
    });
  });
}

void HttpSession::answer(HttpReply reply) {
  if (reply.stream != nullptr && !is_head_only_) {
    begin_stream(std::move(reply));
    return;
  }
  is_kept_alive_ = is_kept_alive_ && !loop_.is_draining;
  phase_ = Phase::Writing;
  std::string bytes =
      reply_head(reply, {.is_kept_alive = is_kept_alive_}, std::chrono::system_clock::now());
  if (!is_head_only_) {
    bytes += reply.body;
  }
  write(std::move(bytes), &HttpSession::after_answer);
}

void HttpSession::refuse(int status, const std::string& detail) {
  is_kept_alive_ = false;
  is_head_only_ = false;
  if (is_writing_) {
    close();
    return;
  }
  answer(problem_reply(status, detail));
}

void HttpSession::write(std::string bytes, void (HttpSession::*then)()) {
  output_ = std::move(bytes);
  is_writing_ = true;
  arm(loop_.limits.write);
  socket_->write(output_, [self = shared_from_this(), then](bool is_ok, std::size_t) {
    self->is_writing_ = false;
    if (!is_ok || self->phase_ == Phase::Closed) {
      self->close();
    } else {
      ((*self).*then)();
    }
  });
}

void HttpSession::after_answer() {
  if (is_kept_alive_) {
    await_request();
  } else {
    linger();
  }
}

// Closing at once would discard, on the client's side too, what it has not read yet.
void HttpSession::linger() {
  phase_ = Phase::Lingering;
  arm(loop_.limits.linger);
  socket_->end_writing([self = shared_from_this()](bool is_ok, std::size_t) {
    if (self->phase_ != Phase::Lingering) {
      return;
    }
    if (!is_ok || self->socket_->is_tls()) {
      self->close();
    } else if (!self->is_reading_) {
      self->read();
    }
  });
}

}  // namespace rubato
