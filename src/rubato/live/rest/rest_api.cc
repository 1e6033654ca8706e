#include "rubato/live/rest/rest_api.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <pwd.h>
#include <unistd.h>

#include <fmt/core.h>

#include "rubato/base/check.h"
#include "rubato/base/parse.h"
#include "rubato/base/spelling.h"
#include "rubato/http/guard.h"
#include "rubato/http/problem.h"
#include "rubato/live/rest/refusal_reply.h"

namespace rubato {
namespace {

constexpr std::string_view kPagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src "
    "'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// Of the process, or its number.
std::string local_user() {
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  const uid_t id = geteuid();
  if (getpwuid_r(id, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) {
    return entry.pw_name;
  }
  return std::to_string(id);
}

bool starts_ignoring_case(std::string_view text, std::string_view start) {
  return text.size() >= start.size() &&
         std::ranges::equal(
             text.substr(0, start.size()), start,
             [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
}

bool is_json(std::string_view content_type) {
  const std::string_view type = trimmed(content_type.substr(0, content_type.find(';')));
  return type.size() == std::string_view("application/json").size() &&
         starts_ignoring_case(type, "application/json");
}

// The values for the braces of the pattern; nothing if the path is not of the pattern.
std::optional<std::vector<std::string>> matched(const std::vector<std::string>& pattern,
                                                const std::vector<std::string>& segments) {
  if (pattern.size() != segments.size()) {
    return std::nullopt;
  }
  std::vector<std::string> arguments;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (!pattern[i].starts_with('{')) {
      if (pattern[i] != segments[i]) {
        return std::nullopt;
      }
    } else if (segments[i].empty()) {
      return std::nullopt;
    } else {
      arguments.push_back(segments[i]);
    }
  }
  return arguments;
}

// Parameters that the route does not know are mistakes, not decoration.
std::optional<Refusal> unknown_parameter(const RestRoute& route, const HttpTarget& target) {
  std::vector<std::string_view> names;
  for (const RouteParameter& parameter : route.parameters) {
    if (parameter.place == "query") {
      names.push_back(parameter.name);
    }
  }
  for (const auto& [name, value] : target.query) {
    if (std::ranges::find(names, name) == names.end()) {
      return Refusal{.message = name + ": unknown parameter" + suggestion(name, names),
                     .field = name,
                     .suggestion = std::string(nearest_spelling(name, names))};
    }
  }
  return std::nullopt;
}

HttpReply not_authenticated(std::string_view challenge, const std::string& detail) {
  HttpReply reply = problem_reply(401, detail);
  reply.headers.emplace_back("WWW-Authenticate", challenge);
  return reply;
}

Role least_role(RouteAccess access) {
  return access == RouteAccess::Admin  ? Role::Admin
         : access == RouteAccess::User ? Role::User
                                       : Role::Viewer;
}

std::string_view method_of(const HttpRequest& request) {
  return request.method == "HEAD" ? std::string_view("GET") : std::string_view(request.method);
}

// What browsers ask for when somebody types an address or follows a link.
bool is_page_address(const HttpRequest& request, const HttpTarget& target) {
  constexpr auto kPages =
      std::to_array<std::string_view>({"jobs", "plan", "past", "policies", "tenants", "nodes"});
  return !target.segments.empty() &&
         std::ranges::find(kPages, target.segments[0]) != kPages.end() &&
         request.header("accept").find("text/html") != std::string_view::npos;
}

}  // namespace

RestApi::RestApi(Platform& platform, RestApiOptions options)
    : options_(std::move(options)),
      local_{.user = local_user(), .tenant = "", .role = Role::Admin},
      context_{.platform = platform, .metrics = metrics_} {
  for (const RestRoute& route : rest_routes()) {
    const auto pattern = parse_target(route.path);
    RUBATO_CHECK(pattern.ok());
    patterns_.push_back(pattern->segments);
  }
}

HttpReply RestApi::handle(const HttpRequest& request) {
  std::string_view route;
  HttpReply reply = answer(request, route);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - request.received;
  metrics_.observe(request.method, route, reply.status, took.count());
  return reply;
}

HttpReply RestApi::answer(const HttpRequest& request, std::string_view& route) {
  const auto target = parse_target(request.target);
  if (!target) {
    return problem_reply(400, target.error().message);
  }
  if (const auto problem = foreign_request(request, options_.is_loopback_only)) {
    return problem_reply(403, *problem);
  }
  if (auto found = file(request, *target)) {
    route = "files";
    return std::move(*found);
  }
  Found found = find(request, *target);
  if (found.route == nullptr) {
    if (found.allowed.empty()) {
      return problem_reply(404, "no such path: see /v1/openapi.json");
    }
    HttpReply reply = problem_reply(405, "the path takes " + found.allowed);
    reply.headers.emplace_back("Allow", found.allowed);
    return reply;
  }
  route = found.route->path;
  auto asking = caller(request, found.route->access);
  if (auto* const refused = std::get_if<HttpReply>(&asking)) {
    return std::move(*refused);
  }
  if (const auto refusal = unknown_parameter(*found.route, *target)) {
    return problem_reply(*refusal);
  }
  if (!found.route->body.empty() && !is_json(request.header("content-type"))) {
    return problem_reply(415, "content-type: expected application/json");
  }
  return found.route->function(context_, {.request = request,
                                          .caller = std::get<Caller>(std::move(asking)),
                                          .arguments = std::move(found.arguments),
                                          .query = target->query});
}

std::optional<HttpReply> RestApi::file(const HttpRequest& request, const HttpTarget& target) const {
  auto found = options_.files.find(target.path);
  // The dashboard's pages have addresses of their own, which all lead to the one document.
  if (found == options_.files.end() && is_page_address(request, target)) {
    found = options_.files.find("/");
  }
  if (found == options_.files.end() || method_of(request) != "GET") {
    return std::nullopt;
  }
  HttpReply reply;
  reply.content_type = found->second.content_type;
  reply.body = found->second.bytes;
  reply.headers.emplace_back("Content-Security-Policy", kPagePolicy);
  return reply;
}

RestApi::Found RestApi::find(const HttpRequest& request, const HttpTarget& target) const {
  Found found;
  const auto routes = rest_routes();
  for (std::size_t i = 0; i < routes.size(); ++i) {
    auto arguments = matched(patterns_[i], target.segments);
    if (!arguments) {
      continue;
    }
    if (routes[i].method == method_of(request)) {
      return {.route = &routes[i], .arguments = std::move(*arguments)};
    }
    found.allowed += found.allowed.empty() ? "" : ", ";
    found.allowed += routes[i].method == "GET" ? "GET, HEAD" : routes[i].method;
  }
  return found;
}

std::variant<Caller, HttpReply> RestApi::caller(const HttpRequest& request,
                                                RouteAccess access) const {
  if (!options_.tokens || access == RouteAccess::Anyone) {
    return local_;
  }
  constexpr std::string_view kScheme = "Bearer ";
  const std::string_view header = request.header("authorization");
  if (!starts_ignoring_case(header, kScheme)) {
    return not_authenticated("Bearer realm=\"rubato\"", "a bearer token is needed");
  }
  const auto holder = options_.tokens->caller_of(trimmed(header.substr(kScheme.size())));
  if (!holder) {
    return not_authenticated("Bearer realm=\"rubato\", error=\"invalid_token\"",
                             "the token is not known here");
  }
  const Role least = least_role(access);
  if (static_cast<int>(holder->role) < static_cast<int>(least)) {
    return problem_reply(403, fmt::format("this needs the role {}; {} is {}", to_string(least),
                                          holder->user, to_string(holder->role)));
  }
  return *holder;
}

}  // namespace rubato
