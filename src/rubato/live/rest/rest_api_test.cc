#include "rubato/live/rest/rest_api.h"

#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "rubato/live/rest/refusal_reply.h"
#include "rubato/live/service/memory_platform_test.h"

namespace rubato {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;

class RestApiTest : public testing::Test {
 protected:
  HttpReply ask(const std::string& method, const std::string& target, const std::string& body = "",
                std::map<std::string, std::string> headers = {}) {
    headers.emplace("host", "localhost");
    if (!body.empty()) {
      headers.emplace("content-type", "application/json");
    }
    return api_.handle(
        {.method = method, .target = target, .headers = std::move(headers), .body = body});
  }

  // What a successful call answers.
  json asked(const std::string& method, const std::string& target, const std::string& body = "") {
    const HttpReply reply = ask(method, target, body);
    EXPECT_LT(reply.status, 300) << reply.body;
    EXPECT_EQ(reply.content_type, "application/json");
    return json::parse(reply.body);
  }

  MemoryPlatform platform_;
  RestApi api_{platform_, {}};
};

std::string header_of(const HttpReply& reply, const std::string& name) {
  for (const auto& [found, value] : reply.headers) {
    if (found == name) {
      return value;
    }
  }
  return {};
}

json problem_in(const HttpReply& reply) {
  EXPECT_EQ(reply.content_type, "application/problem+json") << reply.body;
  json problem = json::parse(reply.body);
  EXPECT_EQ(problem["status"], reply.status);
  EXPECT_EQ(problem["type"], "about:blank");
  return problem;
}

TEST_F(RestApiTest, SubmitsAJobAndSaysWhereItIs) {
  const HttpReply reply = ask("POST", "/v1/jobs", R"({"name":"a","steps":10})");

  EXPECT_EQ(reply.status, 201);
  EXPECT_EQ(header_of(reply, "Location"), "/v1/jobs/1");
  const json answer = json::parse(reply.body);
  EXPECT_EQ(answer["job"]["id"], "1");
  EXPECT_EQ(answer["job"]["spec"]["name"], "a");
  EXPECT_EQ(answer["quote"]["admitted"], true);
  EXPECT_EQ(asked("GET", "/v1/jobs/1")["state"], "PENDING");
}

TEST_F(RestApiTest, AJobWhoseDeadlineIsRefusedIsAnAnswer) {
  const HttpReply reply = ask("POST", "/v1/jobs", R"({"steps":10,"deadline":"now"})");

  EXPECT_EQ(reply.status, 201);
  EXPECT_EQ(json::parse(reply.body)["job"]["state"], "REJECTED");
}

TEST_F(RestApiTest, AKeyMakesASubmissionSafeToRepeat) {
  const std::map<std::string, std::string> key = {{"idempotency-key", "k"}};
  const HttpReply first = ask("POST", "/v1/jobs", R"({"steps":10})", key);
  const HttpReply again = ask("POST", "/v1/jobs", R"({"steps":10})", key);
  const HttpReply other = ask("POST", "/v1/jobs", R"({"steps":11})", key);

  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(other.status, 409);
  EXPECT_EQ(asked("GET", "/v1/jobs")["jobs"].size(), 1);
  EXPECT_EQ(ask("POST", "/v1/jobs", R"({"steps":1})", {{"idempotency-key", std::string(256, 'k')}})
                .status,
            400);
}

TEST_F(RestApiTest, ListsJobsByStateTenantAndPage) {
  for (const char* const tenant : {"red", "blue", "red"}) {
    asked("POST", "/v1/jobs", json{{"steps", 1}, {"tenant", tenant}}.dump());
  }
  asked("DELETE", "/v1/jobs/1");

  EXPECT_EQ(asked("GET", "/v1/jobs?state=CANCELLED")["jobs"].size(), 1);
  EXPECT_EQ(asked("GET", "/v1/jobs?tenant=red")["jobs"].size(), 2);
  const json page = asked("GET", "/v1/jobs?page_size=2");
  EXPECT_EQ(page["jobs"].size(), 2);
  const json rest =
      asked("GET", "/v1/jobs?page_size=2&page_token=" + page["next_page_token"].get<std::string>());
  EXPECT_EQ(rest["jobs"].size(), 1);
  EXPECT_EQ(rest["next_page_token"], "");
}

TEST_F(RestApiTest, AsksThePlatformAboutOneJob) {
  asked("POST", "/v1/jobs", R"({"steps":1})");

  EXPECT_EQ(asked("GET", "/v1/jobs/1/why")["reason"], "WaitingCapacity");
  EXPECT_EQ(asked("GET", "/v1/jobs/1/blame")["entries"].size(), 1);
  const json scaled = asked("POST", "/v1/jobs/1/scale", R"({"workers":{"max":4}})");
  EXPECT_EQ(scaled["job"]["spec"]["workers"]["max"], 4);
  const HttpReply misspelt = ask("POST", "/v1/what-if", R"({"scale":{"job":"1","worker":{}}})");
  EXPECT_EQ(misspelt.status, 400);
  EXPECT_EQ(problem_in(misspelt)["suggestion"], "workers");
  EXPECT_EQ(asked("POST", "/v1/jobs/1/cancel")["state"], "CANCELLED");
  EXPECT_EQ(ask("GET", "/v1/jobs/7").status, 404);
  EXPECT_EQ(ask("GET", "/v1/jobs/7/why").status, 404);
}

TEST_F(RestApiTest, GivesALogInParts) {
  asked("POST", "/v1/jobs", R"({"steps":1})");
  platform_.add_log("1", std::string(100, 'x'));

  const HttpReply first = ask("GET", "/v1/jobs/1/logs");
  EXPECT_EQ(first.content_type, "text/plain; charset=utf-8");
  EXPECT_EQ(first.body, std::string(64, 'x'));
  EXPECT_EQ(header_of(first, "Rubato-Log-Next"), "64");
  EXPECT_EQ(header_of(first, "Rubato-Log-Over"), "false");
  platform_.finish("1");
  const HttpReply last = ask("GET", "/v1/jobs/1/logs?from=64");
  EXPECT_EQ(last.body, std::string(36, 'x'));
  EXPECT_EQ(header_of(last, "Rubato-Log-Over"), "true");
}

TEST_F(RestApiTest, QuotesReportsAndWhatIfs) {
  EXPECT_EQ(asked("POST", "/v1/quotes", R"({"steps":5})")["gpu_hours"], 5);
  EXPECT_EQ(asked("GET", "/v1/report?since=1.5")["mean_jct_seconds"], 1.5);
  EXPECT_EQ(asked("POST", "/v1/what-if", R"({"add_gpus":8})")["deadlines_met_ratio_then"], 8);
  EXPECT_EQ(asked("GET", "/v1/version")["version"], "test");
}

TEST_F(RestApiTest, NodesTenantsAndPolicies) {
  EXPECT_EQ(asked("GET", "/v1/nodes")["nodes"][0]["name"], "node0");
  EXPECT_EQ(asked("PATCH", "/v1/nodes/node0", R"({"drain":true})")["draining"], true);
  EXPECT_EQ(problem_in(ask("PATCH", "/v1/nodes/node9", R"({"drain":true})"))["suggestion"],
            "node0");

  EXPECT_EQ(asked("PUT", "/v1/tenants/r%20d", R"({"guarantee":4})")["name"], "r d");
  EXPECT_EQ(asked("GET", "/v1/tenants/r%20d")["guarantee"], 4);
  EXPECT_EQ(asked("GET", "/v1/tenants")["tenants"].size(), 1);
  EXPECT_EQ(ask("GET", "/v1/tenants/green").status, 404);
  EXPECT_EQ(problem_in(ask("PUT", "/v1/tenants/red", R"({"name":"blue"})"))["field"], "name");

  EXPECT_EQ(asked("PUT", "/v1/policy", R"({"policy":"edf"})")["live"], "edf");
  EXPECT_EQ(asked("PUT", "/v1/policy/shadow", R"({"policy":"fifo"})")["shadow"], "fifo");
  EXPECT_EQ(asked("GET", "/v1/policy")["live"], "edf");
  EXPECT_EQ(asked("GET", "/v1/policy/shadow")["shadow"], "fifo");
}

TEST_F(RestApiTest, EventsAsAList) {
  for (int i = 0; i < 3; ++i) {
    platform_.publish("job.started");
  }
  const json some = asked("GET", "/v1/events?since=1&limit=1");

  ASSERT_EQ(some["events"].size(), 1);
  EXPECT_EQ(some["events"][0]["sequence"], "2");
  EXPECT_EQ(some["next_sequence"], "2");
  EXPECT_EQ(asked("GET", "/v1/events")["events"].size(), 3);
}

TEST_F(RestApiTest, HealthAndReadiness) {
  EXPECT_EQ(ask("GET", "/healthz").body, "ok\n");
  EXPECT_EQ(ask("GET", "/readyz").status, 200);
  platform_.set_ready(false);
  EXPECT_EQ(ask("GET", "/healthz").status, 200);
  EXPECT_EQ(ask("GET", "/readyz").status, 503);
}

TEST_F(RestApiTest, MetricsCountRequestsByRouteNotByPath) {
  ask("GET", "/v1/jobs/17");
  ask("BREW", "/v1/jobs/17");
  ask("GET", "/no/such");
  const HttpReply reply = ask("GET", "/metrics");

  EXPECT_THAT(reply.body, HasSubstr("# HELP rubato_jobs Jobs.\n"));
  EXPECT_THAT(reply.body, HasSubstr("rubato_http_requests_total{method=\"GET\","
                                    "route=\"/v1/jobs/{id}\",code=\"404\"} 1\n"));
  EXPECT_THAT(reply.body, HasSubstr("{method=\"other\",route=\"none\",code=\"405\"} 1\n"));
  EXPECT_THAT(reply.body, HasSubstr("{method=\"GET\",route=\"none\",code=\"404\"} 1\n"));
  EXPECT_THAT(reply.body, HasSubstr("rubato_http_request_duration_seconds_count"));
  EXPECT_THAT(reply.body, Not(HasSubstr("jobs/17")));
}

TEST_F(RestApiTest, EveryKindOfRefusalHasItsStatus) {
  EXPECT_EQ(ask("POST", "/v1/quotes", R"({"steps":0})").status, 400);
  EXPECT_EQ(ask("GET", "/v1/jobs/9").status, 404);
  EXPECT_EQ(ask("POST", "/v1/quotes", R"({"steps":1,"deadline":"never"})").status, 422);
  const HttpReply busy = ask("POST", "/v1/quotes", R"({"steps":1,"deadline":"starting"})");
  EXPECT_EQ(busy.status, 503);
  EXPECT_EQ(header_of(busy, "Retry-After"), "1");
  EXPECT_EQ(http_status(RefusalKind::NotPermitted), 403);
  EXPECT_EQ(http_status(RefusalKind::Conflict), 409);
}

TEST_F(RestApiTest, ABadBodyIsExplained) {
  const json unknown = problem_in(ask("POST", "/v1/jobs", R"({"steps":1,"worker":{}})"));
  EXPECT_EQ(unknown["status"], 400);
  EXPECT_EQ(unknown["field"], "worker");
  EXPECT_EQ(unknown["suggestion"], "workers");
  const json syntax = problem_in(ask("POST", "/v1/jobs", "{\n\"steps\" 1}"));
  EXPECT_THAT(syntax["detail"].get<std::string>(), HasSubstr("line 2, column 9"));
  EXPECT_EQ(ask("POST", "/v1/jobs", "", {{"content-type", "application/json"}}).status, 400);
}

TEST_F(RestApiTest, BodiesMustBeJson) {
  const std::string spec = R"({"steps":1})";
  EXPECT_EQ(ask("POST", "/v1/jobs", spec, {{"content-type", "text/plain"}}).status, 415);
  EXPECT_EQ(ask("POST", "/v1/jobs", spec, {{"content-type", "application/jsonp"}}).status, 415);
  EXPECT_EQ(ask("POST", "/v1/jobs").status, 415);
  EXPECT_EQ(
      ask("POST", "/v1/jobs", spec, {{"content-type", "Application/JSON ; charset=utf-8"}}).status,
      201);
}

TEST_F(RestApiTest, UnknownPathsMethodsAndParameters) {
  EXPECT_EQ(problem_in(ask("GET", "/v1/nothing"))["status"], 404);
  EXPECT_EQ(ask("GET", "/v1/jobs/").status, 404);
  EXPECT_EQ(ask("GET", "/v1/jobs//why").status, 404);
  EXPECT_EQ(ask("GET", "/%zz").status, 400);
  const HttpReply wrong = ask("PUT", "/v1/jobs");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(header_of(wrong, "Allow"), "POST, GET, HEAD");
  EXPECT_EQ(ask("OPTIONS", "/v1/nodes").status, 405);
  EXPECT_EQ(ask("HEAD", "/v1/nodes").status, 200);

  const json parameter = problem_in(ask("GET", "/v1/jobs?stat=RUNNING"));
  EXPECT_EQ(parameter["field"], "stat");
  EXPECT_EQ(parameter["suggestion"], "state");
  for (const char* const bad :
       {"/v1/jobs?page_size=0", "/v1/jobs?page_size=1001", "/v1/jobs?page_size=x",
        "/v1/jobs?ids=1,x", "/v1/jobs?ids=0", "/v1/jobs?ids=,", "/v1/events?since=-1",
        "/v1/events?limit=1e9", "/v1/report?since=soon", "/v1/report?since=-1",
        "/v1/jobs?state=a&state=b", "/v1/nodes?access_token=secret"}) {
    EXPECT_EQ(ask("GET", bad).status, 400) << bad;
  }
}

TEST_F(RestApiTest, PagesOfOtherSitesAreRefused) {
  EXPECT_EQ(ask("GET", "/v1/nodes", "", {{"host", "evil.example"}}).status, 403);
  EXPECT_EQ(ask("POST", "/v1/jobs/1/cancel", "", {{"origin", "http://evil.example"}}).status, 403);
  EXPECT_EQ(ask("GET", "/v1/nodes", "", {{"origin", "http://localhost"}}).status, 200);
}

TEST_F(RestApiTest, FilesAreServedToAnyone) {
  const auto tokens =
      TokenTable::parse("a viewer - " + digest_text(token_digest("secret")) + "\n", "tokens");
  RestApi api(platform_,
              {.tokens = *tokens,
               .files = {{"/", {"text/html", "<p>"}}, {"/app.js", {"text/javascript", ""}}}});
  const auto ask_for = [&api](const std::string& method, const std::string& target) {
    return api.handle({.method = method, .target = target, .headers = {{"host", "localhost"}}});
  };

  const HttpReply page = ask_for("GET", "/?x=1");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.content_type, "text/html");
  EXPECT_EQ(page.body, "<p>");
  EXPECT_THAT(header_of(page, "Content-Security-Policy"), HasSubstr("script-src 'self'"));
  EXPECT_EQ(ask_for("GET", "/app.js").content_type, "text/javascript");
  EXPECT_EQ(ask_for("POST", "/").status, 404);
  EXPECT_EQ(ask_for("GET", "/../app.js").status, 404);
  EXPECT_EQ(ask_for("GET", "/v1/nodes").status, 401);
}

TEST_F(RestApiTest, WithoutTokensTheCallerIsTheLocalUser) {
  const json job = asked("POST", "/v1/jobs", R"({"steps":1})")["job"];

  EXPECT_THAT(job["user"].get<std::string>(), Not(IsEmpty()));
}

}  // namespace
}  // namespace rubato
