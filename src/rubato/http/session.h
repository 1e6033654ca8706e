// One connection of the HTTP server: reads a request, has it handled by a worker, sends the answer,
// and goes on with the next. All of it runs on the thread of the loop, which never waits.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include "rubato/http/limits.h"
#include "rubato/http/message.h"
#include "rubato/http/parser.h"
#include "rubato/http/reply_text.h"
#include "rubato/http/socket.h"

namespace rubato {

class HttpSession;

/// What the sessions of one server share. Outlives them.
struct HttpLoop {
  // Shared with what wakes streams, which may outlive the server.
  std::shared_ptr<boost::asio::io_context> io{};
  boost::asio::thread_pool& workers;
  HttpHandler handler{};
  HttpLimits limits{};
  // Sessions are shared between this set and the operations that are under way for them.
  std::set<std::shared_ptr<HttpSession>> sessions{};
  std::size_t streams = 0;
  bool is_draining = false;
  std::function<void()> emptied{};  // Called when the last session has ended while draining.
};

class HttpSession final : public std::enable_shared_from_this<HttpSession> {
 public:
  HttpSession(HttpLoop& loop, std::unique_ptr<HttpSocket> socket);

  void start();
  /// Ends now, or after the answer that is under way.
  void drain();
  void close();

 private:
  enum class Phase { Handshake, Idle, Head, Body, Handling, Writing, Streaming, Lingering, Closed };

  void arm(std::chrono::milliseconds limit);
  void disarm();
  void on_deadline();

  void await_request();
  void read();
  void on_read(bool is_ok, std::size_t bytes);
  void parse();
  void go_on_reading();
  void handle();
  void answer(HttpReply reply);
  void refuse(int status, const std::string& detail);
  void write(std::string bytes, void (HttpSession::*then)());
  void after_answer();
  void linger();

  // In http_session_stream.cc.
  void begin_stream(HttpReply reply);
  [[nodiscard]] std::function<void()> waker();
  void open_stream();
  void wake();
  void pull(bool is_quiet);
  void on_part(HttpStream::Part part);
  void after_part();
  void end_stream();

  HttpLoop& loop_;
  std::unique_ptr<HttpSocket> socket_;
  boost::asio::steady_timer timer_;
  Phase phase_ = Phase::Handshake;
  std::optional<HttpParser> parser_{};
  std::array<char, 8192> chunk_{};
  std::string input_{};   // Read, not yet parsed.
  std::string output_{};  // Being written.
  bool is_reading_ = false;
  bool is_writing_ = false;
  bool is_kept_alive_ = true;
  bool is_head_only_ = false;
  bool is_http_1_0_ = false;

  std::shared_ptr<HttpStream> stream_{};  // Shared with the worker that asks it for more.
  HttpStream::Going going_ = HttpStream::Going::On;
  bool had_bytes_ = false;
  bool is_pulling_ = false;
  bool has_news_ = false;
  std::atomic<bool> is_woken_{false};
};

}  // namespace rubato
