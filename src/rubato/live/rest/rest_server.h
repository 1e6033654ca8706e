// The platform's REST interface on a port.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "rubato/base/result.h"
#include "rubato/http/server.h"
#include "rubato/live/rest/rest_api.h"
#include "rubato/live/rest/static_files.h"
#include "rubato/live/service/platform.h"

namespace rubato {

struct RestOptions {
  HttpOptions http{};
  std::string token_file{};  // See token_table.h. Without, callers on loopback are admins.
  StaticFiles files{};
};

class RestServer {
 public:
  /// Listens when it returns. Refuses any address but loopback without tokens. The platform must
  /// outlive the server, and answer until it has stopped.
  [[nodiscard]] static Result<std::unique_ptr<RestServer>> start(Platform& platform,
                                                                 RestOptions options);
  /// As `start` does.
  RestServer(Platform& platform, RestApiOptions options);

  [[nodiscard]] std::uint16_t port() const { return http_->port(); }
  void stop() { http_->stop(); }

 private:
  RestApi api_;
  std::unique_ptr<HttpServer> http_{};
};

}  // namespace rubato
