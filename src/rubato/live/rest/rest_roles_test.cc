#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "rubato/live/rest/rest_api.h"
#include "rubato/live/service/memory_platform_test.h"

namespace rubato {
namespace {

using testing::HasSubstr;

std::string role_tokens() {
  std::string text;
  for (const char* const line :
       {"vera viewer red", "ute user red", "udo user blue", "adam admin -"}) {
    const std::string name = std::string(line).substr(0, std::string(line).find(' '));
    text += line + (" " + digest_text(token_digest("token of " + name))) + "\n";
  }
  return text;
}

class RestRolesTest : public testing::Test {
 protected:
  HttpReply ask(const std::string& who, const std::string& method, const std::string& target,
                const std::string& body = "") {
    HttpRequest request{.method = method,
                        .target = target,
                        .headers = {{"host", "localhost"}, {"content-type", "application/json"}},
                        .body = body};
    if (!who.empty()) {
      request.headers["authorization"] = "Bearer token of " + who;
    }
    return api_.handle(request);
  }

  MemoryPlatform platform_;
  RestApi api_{platform_, {.tokens = *TokenTable::parse(role_tokens(), "tokens")}};
};

// A body that each route with one accepts.
std::string body_for(const RestRoute& route) {
  static const std::map<std::string_view, std::string> kBodies = {
      {"JobSpec", R"({"steps":1})"}, {"ScaleRequest", "{}"},  {"NodeRequest", "{}"},
      {"TenantStatus", "{}"},        {"PolicyRequest", "{}"}, {"WhatIfRequest", "{}"}};
  return route.body.empty() ? "" : kBodies.at(route.body);
}

std::string path_for(const RestRoute& route) {
  std::string path(route.path);
  for (const auto& [name, value] : std::map<std::string, std::string>{
           {"{id}", "1"}, {"{name}", route.body == "NodeRequest" ? "node0" : "red"}}) {
    if (const std::size_t at = path.find(name); at != std::string::npos) {
      path.replace(at, name.size(), value);
    }
  }
  return path == "/v1/metrics" ? path + "?jobs=1&name=loss" : path;
}

TEST_F(RestRolesTest, EachRouteIsOpenToItsRoleAndThoseAboveOnly) {
  ask("adam", "PUT", "/v1/tenants/red", "{}");
  ask("ute", "POST", "/v1/jobs", R"({"steps":1})");
  const std::map<std::string, int> rank = {{"", 0}, {"vera", 1}, {"ute", 2}, {"adam", 3}};
  for (const RestRoute& route : rest_routes()) {
    for (const auto& [who, level] : rank) {
      const int least = static_cast<int>(route.access);
      const int status =
          ask(who, std::string(route.method), path_for(route), body_for(route)).status;
      const int refused = who.empty() ? 401 : 403;
      EXPECT_EQ(status, level >= least ? route.status : refused)
          << who << " " << route.method << " " << route.path;
    }
  }
}

TEST_F(RestRolesTest, OnlyGetIsForViewersAndThreePathsAreForAnyone) {
  int open = 0;
  for (const RestRoute& route : rest_routes()) {
    if (route.access <= RouteAccess::Viewer) {
      EXPECT_EQ(route.method, "GET") << route.path;
    }
    open += route.access == RouteAccess::Anyone ? 1 : 0;
  }
  EXPECT_EQ(open, 3);
}

TEST_F(RestRolesTest, ChallengesWhoHasNoToken) {
  const auto challenge = [](const HttpReply& reply) {
    EXPECT_EQ(reply.status, 401);
    for (const auto& [name, value] : reply.headers) {
      if (name == "WWW-Authenticate") {
        return value;
      }
    }
    return std::string{};
  };
  EXPECT_EQ(challenge(ask("", "GET", "/v1/nodes")), "Bearer realm=\"rubato\"");
  EXPECT_THAT(challenge(ask("mallory", "GET", "/v1/nodes")), HasSubstr("invalid_token"));
  HttpRequest basic{.method = "GET",
                    .target = "/v1/nodes",
                    .headers = {{"host", "localhost"}, {"authorization", "Basic dXRlOng="}}};
  EXPECT_EQ(challenge(api_.handle(basic)), "Bearer realm=\"rubato\"");
  basic.headers["authorization"] = "bearer  token of ute";
  EXPECT_EQ(api_.handle(basic).status, 200);
}

TEST_F(RestRolesTest, TenantsDoNotSeeEachOthersJobs) {
  const HttpReply mine = ask("ute", "POST", "/v1/jobs", R"({"steps":1,"tenant":"blue"})");
  EXPECT_EQ(nlohmann::json::parse(mine.body)["job"]["spec"]["tenant"], "red");
  EXPECT_EQ(nlohmann::json::parse(mine.body)["job"]["user"], "ute");

  EXPECT_EQ(ask("udo", "GET", "/v1/jobs/1").status, 404);
  EXPECT_EQ(ask("udo", "DELETE", "/v1/jobs/1").status, 404);
  EXPECT_EQ(ask("vera", "GET", "/v1/jobs/1").status, 200);
  EXPECT_EQ(ask("adam", "GET", "/v1/jobs/1").status, 200);
}

TEST_F(RestRolesTest, NoAnswerRepeatsTheToken) {
  for (const char* const target : {"/v1/nodes", "/nothing", "/v1/jobs/9", "/%zz"}) {
    const HttpReply reply = ask("mallory", "GET", target);
    EXPECT_THAT(reply.body, Not(HasSubstr("token of mallory"))) << target;
  }
}

}  // namespace
}  // namespace rubato
