#include "rubato/http/socket.h"

#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

namespace rubato {
namespace {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using ErrorOfAsio = boost::system::error_code;

auto told(HttpSocket::Done done) {
  return [done = std::move(done)](const ErrorOfAsio& error, std::size_t bytes) {
    done(!error, bytes);
  };
}

auto told_without_bytes(HttpSocket::Done done) {
  return [done = std::move(done)](const ErrorOfAsio& error) { done(!error, 0); };
}

class PlainSocket final : public HttpSocket {
 public:
  explicit PlainSocket(Tcp::socket socket) : socket_(std::move(socket)) {}

  void handshake(Done done) override {
    asio::post(socket_.get_executor(), [done = std::move(done)] { done(true, 0); });
  }
  void read_some(std::span<char> into, Done done) override {
    socket_.async_read_some(asio::buffer(into.data(), into.size()), told(std::move(done)));
  }
  void write(std::string_view bytes, Done done) override {
    asio::async_write(socket_, asio::buffer(bytes), told(std::move(done)));
  }
  void end_writing(Done done) override {
    ErrorOfAsio error;
    socket_.shutdown(Tcp::socket::shutdown_send, error);
    asio::post(socket_.get_executor(), [done = std::move(done), error] { done(!error, 0); });
  }
  void close() override {
    ErrorOfAsio ignored;
    socket_.close(ignored);
  }
  [[nodiscard]] bool is_tls() const override { return false; }

 private:
  Tcp::socket socket_;
};

class TlsSocket final : public HttpSocket {
 public:
  TlsSocket(Tcp::socket socket, asio::ssl::context& context)
      : stream_(std::move(socket), context) {}

  void handshake(Done done) override {
    stream_.async_handshake(asio::ssl::stream_base::server, told_without_bytes(std::move(done)));
  }
  void read_some(std::span<char> into, Done done) override {
    stream_.async_read_some(asio::buffer(into.data(), into.size()), told(std::move(done)));
  }
  void write(std::string_view bytes, Done done) override {
    asio::async_write(stream_, asio::buffer(bytes), told(std::move(done)));
  }
  void end_writing(Done done) override {
    stream_.async_shutdown(told_without_bytes(std::move(done)));
  }
  void close() override {
    ErrorOfAsio ignored;
    stream_.lowest_layer().close(ignored);
  }
  [[nodiscard]] bool is_tls() const override { return true; }

 private:
  asio::ssl::stream<Tcp::socket> stream_;
};

}  // namespace

std::unique_ptr<HttpSocket> http_socket(Tcp::socket socket, asio::ssl::context* tls) {
  if (tls == nullptr) {
    return std::make_unique<PlainSocket>(std::move(socket));
  }
  return std::make_unique<TlsSocket>(std::move(socket), *tls);
}

}  // namespace rubato
