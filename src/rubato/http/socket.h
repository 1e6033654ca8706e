// One accepted connection, plain or TLS, with the few operations that a session needs.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>

namespace rubato {

/// All functions are called, and all `done` are called, on the thread of the loop; one read and one
/// write may be under way at once. What is handed in must live until `done`.
class HttpSocket {
 public:
  using Done = std::function<void(bool is_ok, std::size_t bytes)>;

  virtual ~HttpSocket() = default;
  virtual void handshake(Done done) = 0;
  virtual void read_some(std::span<char> into, Done done) = 0;
  /// All of it.
  virtual void write(std::string_view bytes, Done done) = 0;
  /// Tells the other side that nothing will follow.
  virtual void end_writing(Done done) = 0;
  /// Makes everything under way fail. May be called again.
  virtual void close() = 0;
  [[nodiscard]] virtual bool is_tls() const = 0;
};

/// Without `tls`, plain. The context must outlive the socket.
[[nodiscard]] std::unique_ptr<HttpSocket> http_socket(boost::asio::ip::tcp::socket socket,
                                                      boost::asio::ssl::context* tls);

}  // namespace rubato
