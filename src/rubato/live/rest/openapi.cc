#include "rubato/live/rest/openapi.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include <nlohmann/json.hpp>

#include "rubato/live/rest/json_schema.h"
#include "rubato/live/rest/rest_routes.h"

namespace rubato {
namespace {

using Json = nlohmann::ordered_json;

std::string_view role_word(RouteAccess access) {
  switch (access) {
    case RouteAccess::Anyone:
      return "anyone";
    case RouteAccess::Viewer:
      return "viewer";
    case RouteAccess::User:
      return "user";
    case RouteAccess::Admin:
      return "admin";
  }
  return "?";
}

std::string lower_method(std::string_view method) {
  std::string lower(method);
  std::ranges::transform(lower, lower.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return lower;
}

// `get_v1_jobs_id_why`: what generators of clients name their functions after.
std::string operation_id(const RestRoute& route) {
  std::string id = lower_method(route.method);
  for (const char character : route.path) {
    if (character == '/' || character == '-' || character == '.') {
      id += '_';
    } else if (character != '{' && character != '}') {
      id += character;
    }
  }
  return id;
}

Json json_content(std::string_view type, std::string_view message) {
  Json media = Json::object();
  if (!message.empty()) {
    media["schema"] = {{"$ref", schema_reference(message)}};
  } else if (type != "application/json") {
    media["schema"] = {{"type", "string"}};
  }
  return {{std::string(type), media}};
}

Json parameters_of(const RestRoute& route) {
  Json parameters = Json::array();
  for (std::size_t open = route.path.find('{'); open != std::string_view::npos;
       open = route.path.find('{', open + 1)) {
    const auto name = route.path.substr(open + 1, route.path.find('}', open) - open - 1);
    parameters.push_back({{"name", std::string(name)},
                          {"in", "path"},
                          {"required", true},
                          {"schema", {{"type", "string"}}}});
  }
  for (const RouteParameter& parameter : route.parameters) {
    parameters.push_back({{"name", std::string(parameter.name)},
                          {"in", std::string(parameter.place)},
                          {"description", std::string(parameter.about)},
                          {"schema", {{"type", std::string(parameter.type)}}}});
  }
  return parameters;
}

Json operation_of(const RestRoute& route) {
  Json operation = {{"operationId", operation_id(route)},
                    {"summary", std::string(route.about)},
                    {"x-role", std::string(role_word(route.access))}};
  if (Json parameters = parameters_of(route); !parameters.empty()) {
    operation["parameters"] = std::move(parameters);
  }
  if (!route.body.empty()) {
    operation["requestBody"] = {{"required", true},
                                {"content", json_content("application/json", route.body)}};
  }
  Json content = json_content(route.reply_type, route.reply);
  if (!route.stream_type.empty()) {
    content.update(json_content(route.stream_type, ""));
  }
  operation["responses"][std::to_string(route.status)] = {{"description", "Done"},
                                                          {"content", std::move(content)}};
  operation["responses"]["default"] = {{"$ref", "#/components/responses/Problem"}};
  if (route.access == RouteAccess::Anyone) {
    operation["security"] = Json::array();
  }
  return operation;
}

// The messages of all routes; what clients send is strict.
Json schemas_of_routes() {
  Json schemas = Json::object();
  for (const RestRoute& route : rest_routes()) {
    if (!route.body.empty()) {
      add_schema(platform_message(route.body), /*is_strict=*/true, schemas);
    }
  }
  for (const RestRoute& route : rest_routes()) {
    if (!route.reply.empty()) {
      add_schema(platform_message(route.reply), /*is_strict=*/false, schemas);
    }
  }
  add_schema(platform_message("Problem"), /*is_strict=*/false, schemas);
  return schemas;
}

}  // namespace

std::string openapi_document() {
  Json document = {
      {"openapi", "3.1.0"},
      {"info",
       {{"title", "Rubato"},
        {"version", "1"},
        {"description",
         "Elastic, deadline-aware training. JSON is protobuf's mapping of the messages; unknown "
         "fields and parameters are errors; moments are RFC 3339."}}},
      {"security", Json::array({{{"token", Json::array()}}})},
      {"paths", Json::object()}};
  for (const RestRoute& route : rest_routes()) {
    document["paths"][std::string(route.path)][lower_method(route.method)] = operation_of(route);
  }
  document["components"] = {
      {"securitySchemes", {{"token", {{"type", "http"}, {"scheme", "bearer"}}}}},
      {"responses",
       {{"Problem",
         {{"description", "Not done, and why (RFC 9457)"},
          {"content", json_content("application/problem+json", "Problem")}}}}},
      {"schemas", schemas_of_routes()}};
  return document.dump(2) + "\n";
}

}  // namespace rubato
