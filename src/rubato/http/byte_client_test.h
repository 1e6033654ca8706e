// A client that sends whatever bytes a test wants and reads what comes back, plain or TLS.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/ssl.h>

namespace rubato {

struct ClientReply {
  int status = 0;  // Zero: the connection ended before.
  std::string head{};
  std::string body{};
  bool is_complete = false;  // The body ended as announced.

  [[nodiscard]] std::string header(const std::string& name) const {
    const std::size_t at = head.find("\r\n" + name + ": ");
    if (at == std::string::npos) {
      return {};
    }
    const std::size_t begin = at + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
};

class RawClient {
 public:
  enum class Line { Plain, Tls };

  explicit RawClient(std::uint16_t port, Line line = Line::Plain)
      : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    timeval patience{.tv_sec = 60, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr any{};
    static_assert(sizeof(any) == sizeof(address));
    std::copy_n(reinterpret_cast<const char*>(&address), sizeof(any),
                reinterpret_cast<char*>(&any));
    is_connected_ = connect(socket_, &any, sizeof(any)) == 0;
    if (is_connected_ && line == Line::Tls) {
      context_ = SSL_CTX_new(TLS_client_method());
      ssl_ = SSL_new(context_);
      SSL_set_fd(ssl_, socket_);
      is_connected_ = SSL_connect(ssl_) == 1;
    }
  }
  ~RawClient() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
    close(socket_);
  }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  [[nodiscard]] bool is_connected() const { return is_connected_; }
  [[nodiscard]] int socket_number() const { return socket_; }

  bool write(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = ssl_ != nullptr
                            ? SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()))
                            : ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) {
        return false;
      }
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  ClientReply get(const std::string& target, const std::string& headers = "") {
    write("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n");
    return read_reply();
  }

  ClientReply call(const std::string& method, const std::string& target, const std::string& body,
                   const std::string& headers = "") {
    write(method + " " + target +
          " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + headers +
          "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    return read_reply();
  }

  ClientReply read_head() {
    ClientReply reply;
    const auto end = wait_for("\r\n\r\n");
    if (end) {
      reply.head = take(*end + 4);
      reply.status = std::stoi(reply.head.substr(9, 3));
    }
    return reply;
  }

  ClientReply read_reply(bool has_body = true) {
    ClientReply reply = read_head();
    if (reply.status == 0 || reply.status == 100 || !has_body) {
      return reply;
    }
    if (const std::string length = reply.header("Content-Length"); !length.empty()) {
      const std::size_t size = std::stoul(length);
      while (input_.size() < size && read_more()) {
      }
      reply.is_complete = input_.size() >= size;
      reply.body = take(std::min(size, input_.size()));
    } else if (reply.header("Transfer-Encoding") == "chunked") {
      while (auto piece = read_chunk()) {
        reply.is_complete = piece->empty();
        reply.body += *piece;
        if (piece->empty()) {
          break;
        }
      }
    } else {
      while (read_more()) {
      }
      reply.body = take(input_.size());
      reply.is_complete = true;
    }
    return reply;
  }

  /// Empty: the last one. Nothing: the connection ended before it.
  std::optional<std::string> read_chunk() {
    const auto line = wait_for("\r\n");
    if (!line) {
      return std::nullopt;
    }
    const std::size_t size = std::stoul(take(*line + 2), nullptr, 16);
    while (input_.size() < size + 2) {
      if (!read_more()) {
        return std::nullopt;
      }
    }
    std::string piece = take(size);
    take(2);
    return piece;
  }

  /// Chunks until their text holds `text`; what was read.
  std::string read_chunks_until(const std::string& text) {
    std::string all;
    while (all.find(text) == std::string::npos) {
      const auto piece = read_chunk();
      if (!piece || piece->empty()) {
        ADD_FAILURE() << "the stream ended after: " << all;
        break;
      }
      all += *piece;
    }
    return all;
  }

  /// Reads to the end; false if the server keeps the connection.
  bool ends() {
    while (read_more()) {
    }
    return is_ended_;
  }

 private:
  std::optional<std::size_t> wait_for(std::string_view text) {
    std::size_t found = input_.find(text);
    while (found == std::string::npos && read_more()) {
      found = input_.find(text);
    }
    return found == std::string::npos ? std::nullopt : std::optional(found);
  }

  std::string take(std::size_t bytes) {
    std::string taken = input_.substr(0, bytes);
    input_.erase(0, bytes);
    return taken;
  }

  bool read_more() {
    char buffer[4096];
    const auto got = ssl_ != nullptr ? SSL_read(ssl_, buffer, sizeof(buffer))
                                     : recv(socket_, buffer, sizeof(buffer), 0);
    if (got <= 0) {
      is_ended_ = got == 0 || errno == ECONNRESET || ssl_ != nullptr;
      return false;
    }
    input_.append(buffer, static_cast<std::size_t>(got));
    return true;
  }

  int socket_;
  SSL_CTX* context_ = nullptr;
  SSL* ssl_ = nullptr;
  bool is_connected_ = false;
  bool is_ended_ = false;
  std::string input_{};
};

}  // namespace rubato
