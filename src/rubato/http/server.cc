#include "rubato/http/server.h"

#include <chrono>
#include <future>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <fmt/core.h>

#include "rubato/http/problem.h"
#include "rubato/http/session.h"

namespace rubato {
namespace {

using AcceptorOfAsio = boost::asio::ip::tcp::acceptor;
using SocketOfAsio = boost::asio::ip::tcp::socket;
using boost::system::error_code;

Error bad_config(std::string message) {
  return Error{.code = ErrorCode::BadConfig, .message = std::move(message)};
}

// Nothing without files; an error names the file that cannot be used.
Result<std::optional<boost::asio::ssl::context>> tls_context(const HttpOptions& options) {
  if (options.certificate_file.empty() && options.key_file.empty()) {
    return std::optional<boost::asio::ssl::context>{};
  }
  if (options.certificate_file.empty() || options.key_file.empty()) {
    return bad_config("TLS needs a certificate file and a key file, found only one of them");
  }
  boost::asio::ssl::context context(boost::asio::ssl::context::tls_server);
  SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  error_code error;
  context.use_certificate_chain_file(options.certificate_file, error);
  if (error) {
    return bad_config(fmt::format("{}: no certificate chain in PEM: {}", options.certificate_file,
                                  error.message()));
  }
  context.use_private_key_file(options.key_file, boost::asio::ssl::context::pem, error);
  if (error) {
    return bad_config(fmt::format("{}: no private key in PEM for the certificate: {}",
                                  options.key_file, error.message()));
  }
  return std::optional(std::move(context));
}

// Listens on the address, or says why it cannot.
Status start_listening(AcceptorOfAsio& acceptor, const HttpOptions& options) {
  error_code error;
  const auto address = boost::asio::ip::make_address(options.address, error);
  if (error) {
    return bad_config(
        fmt::format("address: expected an IPv4 or IPv6 address, found '{}'", options.address));
  }
  const boost::asio::ip::tcp::endpoint endpoint(address, options.port);
  acceptor.open(endpoint.protocol(), error);
  if (!error) {
    acceptor.set_option(AcceptorOfAsio::reuse_address(true), error);
  }
  if (!error) {
    acceptor.bind(endpoint, error);
  }
  if (!error) {
    acceptor.listen(boost::asio::socket_base::max_listen_connections, error);
  }
  if (error) {
    return bad_config(fmt::format("cannot listen on {} port {}: {}", options.address, options.port,
                                  error.message()));
  }
  return ok_status();
}

// As much as fits without waiting: who comes when we are full is not worth more.
void turn_away(SocketOfAsio socket) {
  HttpReply reply = problem_reply(503, "too many connections");
  std::string bytes =
      reply_head(reply, {.is_kept_alive = false}, std::chrono::system_clock::now()) + reply.body;
  error_code ignored;
  socket.non_blocking(true, ignored);
  socket.write_some(boost::asio::buffer(bytes), ignored);
  socket.shutdown(SocketOfAsio::shutdown_send, ignored);
}

}  // namespace

struct HttpServer::State {
  explicit State(int worker_count) : workers(static_cast<std::size_t>(worker_count)) {}

  void accept() {
    acceptor.async_accept([this](const error_code& error, SocketOfAsio socket) {
      if (!acceptor.is_open()) {
        return;
      }
      if (error) {
        // Most likely no descriptor is free: one may be, a little later.
        retry.expires_after(std::chrono::milliseconds(50));
        retry.async_wait([this](const error_code& cancelled) {
          if (!cancelled) {
            accept();
          }
        });
        return;
      }
      welcome(std::move(socket));
      accept();
    });
  }

  void welcome(SocketOfAsio socket) {
    if (loop.sessions.size() >= loop.limits.connections_max) {
      if (!tls) {
        turn_away(std::move(socket));
      }
      return;
    }
    error_code ignored;
    socket.set_option(boost::asio::ip::tcp::no_delay(true), ignored);
    auto session =
        std::make_shared<HttpSession>(loop, http_socket(std::move(socket), tls ? &*tls : nullptr));
    loop.sessions.insert(session);
    session->start();
  }

  // On the loop's thread.
  void begin_draining(std::promise<void>& drained) {
    loop.is_draining = true;
    loop.emptied = [&drained] { drained.set_value(); };
    error_code ignored;
    acceptor.close(ignored);
    retry.cancel();
    if (loop.sessions.empty()) {
      loop.emptied();
      return;
    }
    for (const auto& session : std::vector(loop.sessions.begin(), loop.sessions.end())) {
      session->drain();
    }
  }

  void close_all() {
    loop.emptied = [] {};
    for (const auto& session : std::vector(loop.sessions.begin(), loop.sessions.end())) {
      session->close();
    }
  }

  std::shared_ptr<boost::asio::io_context> io = std::make_shared<boost::asio::io_context>(1);
  boost::asio::thread_pool workers;
  std::optional<boost::asio::ssl::context> tls{};
  HttpLoop loop{.io = io, .workers = workers};
  AcceptorOfAsio acceptor{*io};
  boost::asio::steady_timer retry{*io};
  std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> guard{
      boost::asio::make_work_guard(*io)};
  std::uint16_t port = 0;
  std::thread thread{};
};

Result<bool> is_loopback_address(const std::string& address) {
  error_code error;
  const auto parsed = boost::asio::ip::make_address(address, error);
  if (error) {
    return bad_config(
        fmt::format("address: expected an IPv4 or IPv6 address, found '{}'", address));
  }
  return parsed.is_loopback();
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(const HttpOptions& options,
                                                      HttpHandler handler) {
  auto state = std::make_unique<State>(options.workers);
  auto tls = tls_context(options);
  if (!tls) {
    return tls.error();
  }
  state->tls = std::move(*tls);
  state->loop.handler = std::move(handler);
  state->loop.limits = options.limits;
  if (auto listening = start_listening(state->acceptor, options); !listening) {
    return listening.error();
  }
  state->port = state->acceptor.local_endpoint().port();
  state->accept();
  // What is thrown there is a bug of ours or the end of memory: both end the process.
  state->thread = std::thread([io = state->io] { io->run(); });
  return std::make_unique<HttpServer>(std::move(state));
}

HttpServer::HttpServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

HttpServer::~HttpServer() { stop(); }

std::uint16_t HttpServer::port() const { return state_->port; }

void HttpServer::stop() {
  if (!state_->thread.joinable()) {
    return;
  }
  std::promise<void> drained;
  auto is_drained = drained.get_future();
  boost::asio::post(*state_->io, [this, &drained] { state_->begin_draining(drained); });
  is_drained.wait_for(state_->loop.limits.grace);
  std::promise<void> closed;
  boost::asio::post(*state_->io, [this, &closed] {
    state_->close_all();
    closed.set_value();
  });
  closed.get_future().wait();
  state_->workers.join();
  state_->guard.reset();
  state_->thread.join();
}

}  // namespace rubato
