// All routes of the REST interface: what the router obeys and the OpenAPI document tells.
#pragma once

#include <span>
#include <string_view>

#include "rubato/live/rest/rest_call.h"

namespace rubato {

/// Who may call: anyone, or whose role is at least this.
enum class RouteAccess { Anyone, Viewer, User, Admin };

struct RouteParameter {
  std::string_view name{};
  std::string_view type{};  // Of JSON Schema: string, integer, number.
  std::string_view about{};
  std::string_view place = "query";  // Or header.
};

struct RestRoute {
  std::string_view method{};
  std::string_view path{};  // A segment in braces stands for any text.
  RouteAccess access = RouteAccess::Viewer;
  RestFunction function = nullptr;
  std::string_view about{};
  std::string_view body{};   // Name of the message that the request carries, or empty.
  std::string_view reply{};  // Likewise of the answer; empty: not a message.
  std::string_view reply_type = "application/json";
  std::string_view stream_type{};  // If the answer may also be a stream.
  int status = 200;                // Of success.
  std::span<const RouteParameter> parameters{};
};

/// In the order in which the document has them.
[[nodiscard]] std::span<const RestRoute> rest_routes();

}  // namespace rubato
