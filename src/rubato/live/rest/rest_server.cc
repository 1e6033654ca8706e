#include "rubato/live/rest/rest_server.h"

#include <utility>

#include <fmt/core.h>

namespace rubato {

Result<std::unique_ptr<RestServer>> RestServer::start(Platform& platform, RestOptions options) {
  const auto is_loopback = is_loopback_address(options.http.address);
  if (!is_loopback) {
    return is_loopback.error();
  }
  RestApiOptions api{.is_loopback_only = *is_loopback, .files = std::move(options.files)};
  if (!options.token_file.empty()) {
    auto tokens = TokenTable::read(options.token_file);
    if (!tokens) {
      return tokens.error();
    }
    api.tokens = std::move(*tokens);
  }
  if (!*is_loopback && !api.tokens) {
    return Error{.code = ErrorCode::BadConfig,
                 .message = fmt::format("{} can be reached by others: a token file is needed",
                                        options.http.address)};
  }
  auto server = std::make_unique<RestServer>(platform, std::move(api));
  auto http = HttpServer::start(options.http, [api = &server->api_](const HttpRequest& request) {
    return api->handle(request);
  });
  if (!http) {
    return http.error();
  }
  server->http_ = std::move(*http);
  return server;
}

RestServer::RestServer(Platform& platform, RestApiOptions options)
    : api_(platform, std::move(options)) {}

}  // namespace rubato
