// The REST interface without its sockets: a request in, the answer out. Who asks, what for, and
// whether they may, is settled here; what it means, by the platform.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rubato/http/message.h"
#include "rubato/http/target.h"
#include "rubato/live/rest/http_metrics.h"
#include "rubato/live/rest/rest_routes.h"
#include "rubato/live/rest/static_files.h"
#include "rubato/live/rest/token_table.h"
#include "rubato/live/service/platform.h"

namespace rubato {

struct RestApiOptions {
  bool is_loopback_only = true;
  std::optional<TokenTable> tokens{};  // Without: every caller is an admin.
  StaticFiles files{};
};

class RestApi {
 public:
  /// The platform must outlive it.
  RestApi(Platform& platform, RestApiOptions options);

  /// May be called from any thread.
  [[nodiscard]] HttpReply handle(const HttpRequest& request);

 private:
  struct Found {
    const RestRoute* route = nullptr;
    std::vector<std::string> arguments{};
    std::string allowed{};  // If only other methods were found.
  };
  [[nodiscard]] HttpReply answer(const HttpRequest& request, std::string_view& route);
  [[nodiscard]] std::optional<HttpReply> file(const HttpRequest& request,
                                              const HttpTarget& target) const;
  [[nodiscard]] Found find(const HttpRequest& request, const HttpTarget& target) const;
  [[nodiscard]] std::variant<Caller, HttpReply> caller(const HttpRequest& request,
                                                       RouteAccess access) const;

  RestApiOptions options_;
  Caller local_;
  HttpMetrics metrics_{};
  RestContext context_;
  std::vector<std::vector<std::string>> patterns_{};  // Segments of each route.
};

}  // namespace rubato
