// A web server of a few lines for tests: real sockets, canned answers.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <netinet/in.h>

#include "rubato/base/check.h"
#include "rubato/wire/descriptor.h"

namespace rubato {

struct TinyRequest {
  std::string line{};  // `GET /v1/jobs HTTP/1.1`
  std::string head{};
  std::string body{};

  /// `GET /v1/jobs`, without the query.
  [[nodiscard]] std::string route() const {
    return line.substr(0, std::min(line.rfind(' '), line.find('?')));
  }
  [[nodiscard]] bool has(const std::string& text) const {
    return head.find(text) != std::string::npos;
  }
};

/// The bytes of a whole answer.
inline std::string web_answer(int status, const std::string& body,
                              const std::string& type = "application/json") {
  return fmt::format("HTTP/1.1 {} X\r\nContent-Type: {}\r\nContent-Length: {}\r\n\r\n{}", status,
                     type, body.size(), body);
}

/// The beginning of an answer without length, then parts of it. Only `web_chunk("")` ends it well.
inline std::string web_stream_head(const std::string& type) {
  return "HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\nContent-Type: " + type + "\r\n\r\n";
}
inline std::string web_chunk(const std::string& text) {
  return fmt::format("{:x}\r\n{}\r\n", text.size(), text);
}

/// Serves one connection at a time per thread. After an answer that is empty, or has `[close]` at
/// its end, the connection is closed.
class TinyWeb {
 public:
  using Handler = std::function<std::string(const TinyRequest& request)>;

  explicit TinyWeb(Handler handler)
      : handler_(std::move(handler)), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const raw = reinterpret_cast<sockaddr*>(&address);
    RUBATO_CHECK(::bind(listener_.get(), raw, size) == 0);
    RUBATO_CHECK(::listen(listener_.get(), 16) == 0);
    RUBATO_CHECK(::getsockname(listener_.get(), raw, &size) == 0);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }
  ~TinyWeb() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    acceptor_.join();
    {
      const std::lock_guard lock(mutex_);
      for (const int socket : sockets_) {
        ::shutdown(socket, SHUT_RDWR);
      }
    }
    for (std::thread& thread : threads_) {
      thread.join();
    }
    for (const int socket : sockets_) {
      ::close(socket);
    }
  }
  TinyWeb(const TinyWeb&) = delete;
  TinyWeb& operator=(const TinyWeb&) = delete;

  [[nodiscard]] std::string url() const { return fmt::format("http://127.0.0.1:{}", port_); }
  [[nodiscard]] int connections() const { return connections_; }
  [[nodiscard]] std::vector<TinyRequest> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void accept_all() {
    for (;;) {
      const int socket = ::accept(listener_.get(), nullptr, nullptr);
      if (socket < 0) {
        return;
      }
      ++connections_;
      const std::lock_guard lock(mutex_);
      sockets_.push_back(socket);
      threads_.emplace_back([this, socket] { serve(socket); });
    }
  }

  // Reads until `text` has so many bytes, or a head if `bytes` is zero; false at the end.
  static bool receive(int socket, std::string& text, std::size_t bytes) {
    while (bytes == 0 ? text.find("\r\n\r\n") == std::string::npos : text.size() < bytes) {
      char buffer[4096];
      const ssize_t got = ::recv(socket, buffer, sizeof(buffer), 0);
      if (got <= 0) {
        return false;
      }
      text.append(buffer, static_cast<std::size_t>(got));
    }
    return true;
  }

  void serve(int socket) {
    constexpr std::string_view kClose = "[close]";
    std::string rest;
    while (receive(socket, rest, 0)) {
      const std::size_t end = rest.find("\r\n\r\n") + 4;
      TinyRequest request{.line = rest.substr(0, rest.find("\r\n")), .head = rest.substr(0, end)};
      const std::size_t length = request.head.find("Content-Length: ");
      const std::size_t body =
          length == std::string::npos ? 0 : std::stoul(request.head.substr(length + 16));
      if (!receive(socket, rest, end + body)) {
        break;
      }
      request.body = rest.substr(end, body);
      rest.erase(0, end + body);
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(request);
      }
      std::string answer = handler_(request);
      const bool closes = answer.empty() || answer.ends_with(kClose);
      if (answer.ends_with(kClose)) {
        answer.resize(answer.size() - kClose.size());
      }
      ::send(socket, answer.data(), answer.size(), MSG_NOSIGNAL);
      if (closes) {
        break;
      }
    }
    ::shutdown(socket, SHUT_RDWR);
  }

  Handler handler_;
  Descriptor listener_;
  int port_ = 0;
  std::atomic<int> connections_ = 0;
  mutable std::mutex mutex_{};
  std::vector<int> sockets_{};
  std::vector<std::thread> threads_{};
  std::vector<TinyRequest> requests_{};
  std::thread acceptor_{};
};

}  // namespace rubato
