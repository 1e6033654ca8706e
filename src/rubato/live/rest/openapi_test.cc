#include "rubato/live/rest/openapi.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "rubato/live/rest/json_schema.h"
#include "rubato/live/rest/message_json.h"
#include "rubato/live/rest/rest_routes.h"

namespace rubato {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::string upper_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char letter) {
    return static_cast<char>(std::toupper(letter));
  });
  return text;
}

// Adds every reference below the value.
void collect_references(const json& value, std::set<std::string>& references) {
  if (value.is_object() && value.contains("$ref")) {
    references.insert(value["$ref"].get<std::string>());
  }
  if (value.is_structured()) {
    for (const auto& member : value) {
      collect_references(member, references);
    }
  }
}

TEST(OpenApi, TheDocumentsCopyIsUpToDate) {
  std::ifstream file("docs/openapi.json");
  ASSERT_TRUE(file) << "run `make docs`";

  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), openapi_document())
      << "run `make docs`";
}

TEST(OpenApi, HasEveryRouteAndNoOther) {
  const json document = json::parse(openapi_document());
  std::set<std::string> told;
  for (const auto& [path, methods] : document["paths"].items()) {
    for (const auto& [method, operation] : methods.items()) {
      told.insert(upper_case(method) + " " + path);
      EXPECT_TRUE(operation.contains("responses"));
    }
  }
  std::set<std::string> routed;
  for (const RestRoute& route : rest_routes()) {
    EXPECT_TRUE(routed.insert(std::string(route.method) + " " + std::string(route.path)).second);
  }

  EXPECT_EQ(document["openapi"], "3.1.0");
  EXPECT_EQ(told, routed);
}

TEST(OpenApi, SchemasNameExactlyTheFieldsOfTheMessages) {
  const json schemas = json::parse(openapi_document())["components"]["schemas"];
  ASSERT_GT(schemas.size(), 20);
  for (const auto& [name, schema] : schemas.items()) {
    const auto& message = platform_message(name);
    std::set<std::string> told;
    for (const auto& [field, type] : schema["properties"].items()) {
      told.insert(field);
    }
    std::set<std::string> declared;
    for (int i = 0; i < message.field_count(); ++i) {
      declared.insert(message.field(i)->name());
    }
    EXPECT_EQ(told, declared) << name;
  }
}

TEST(OpenApi, EveryReferenceLeadsSomewhere) {
  const json document = json::parse(openapi_document());
  std::set<std::string> references;
  collect_references(document, references);

  ASSERT_FALSE(references.empty());
  for (const std::string& reference : references) {
    EXPECT_TRUE(document.contains(json::json_pointer(reference.substr(1)))) << reference;
  }
}

TEST(OpenApi, EachBodyAndReplyIsTheOneOfItsRoute) {
  const json document = json::parse(openapi_document());
  for (const RestRoute& route : rest_routes()) {
    std::string method(route.method);
    std::ranges::transform(method, method.begin(), [](unsigned char letter) {
      return static_cast<char>(std::tolower(letter));
    });
    const json& operation = document["paths"][std::string(route.path)][method];
    EXPECT_EQ(operation.contains("requestBody"), !route.body.empty()) << route.path;
    if (!route.reply.empty()) {
      const json& reply = operation["responses"][std::to_string(route.status)];
      EXPECT_EQ(reply["content"]["application/json"]["schema"]["$ref"],
                schema_reference(route.reply))
          << route.path;
    }
  }
}

TEST(OpenApi, TypesAreThoseOfTheMapping) {
  const json schemas = json::parse(openapi_document())["components"]["schemas"];
  const json& spec = schemas["JobSpec"];
  EXPECT_EQ(spec["additionalProperties"], false);
  EXPECT_EQ(spec["properties"]["steps"]["type"], "number");
  EXPECT_EQ(spec["properties"]["batch"]["type"], "integer");
  EXPECT_EQ(spec["properties"]["command"]["items"]["type"], "string");
  EXPECT_EQ(spec["properties"]["environment"]["additionalProperties"]["type"], "string");
  EXPECT_EQ(spec["properties"]["workers"]["$ref"], "#/components/schemas/WorkerLimits");
  EXPECT_EQ(schemas["JobStatus"]["properties"]["order"]["type"], "string");
  EXPECT_EQ(schemas["JobStatus"]["properties"]["deadline"]["format"], "date-time");
  EXPECT_FALSE(schemas["JobStatus"].contains("additionalProperties"));
}

}  // namespace
}  // namespace rubato
