// An HTTP/1.1 server, plain or TLS. One thread serves all connections and never waits; what may
// wait is done by handlers on a few worker threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "rubato/base/result.h"
#include "rubato/http/limits.h"
#include "rubato/http/message.h"

namespace rubato {

struct HttpOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 8421;       // Zero: any free one.
  std::string certificate_file{};  // PEM, the chain; with the key: TLS 1.2 or later.
  std::string key_file{};
  // Each waits for the journal's disk while it handles a change: more of them let the journal write
  // more changes at once.
  int workers = 32;
  HttpLimits limits{};
};

/// Whether only programs of this machine can reach the address. Fails if it is none.
[[nodiscard]] Result<bool> is_loopback_address(const std::string& address);

class HttpServer {
 public:
  /// Listens when it returns. What `handler` uses must outlive the server.
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> start(const HttpOptions& options,
                                                                 HttpHandler handler);
  struct State;
  /// As `start` does; nobody else can make a State.
  explicit HttpServer(std::unique_ptr<State> state);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  /// Answers under way are completed, within the limit `grace`; idle connections and streams end.
  /// May be called again.
  void stop();

 private:
  std::unique_ptr<State> state_;
};

}  // namespace rubato
