#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "rubato/live/rest/rest_api.h"
#include "rubato/live/service/memory_platform_test.h"

namespace rubato {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class RestHistoryTest : public testing::Test {
 protected:
  HttpReply get(const std::string& target, const std::string& accept = "*/*") {
    return api_.handle({.method = "GET",
                        .target = target,
                        .headers = {{"host", "localhost"}, {"accept", accept}}});
  }

  MemoryPlatform platform_;
  RestApi api_{platform_,
               {.files = {{"/", {.content_type = "text/html", .bytes = "the document"}},
                          {"/app.js", {.content_type = "text/javascript", .bytes = "1"}}}}};
};

TEST_F(RestHistoryTest, MomentsAreReadAndWrongOnesNamed) {
  const json past = json::parse(get("/v1/past?at=2030-01-01T12:00:00Z").body);
  EXPECT_EQ(past["at"], "2030-01-01T12:00:00Z");
  EXPECT_EQ(json::parse(get("/v1/timeline?from=2030-01-01T12:00:00Z").body)["from"],
            "2030-01-01T12:00:00Z");

  for (const char* const target : {"/v1/past?at=noon", "/v1/timeline?from=0", "/v1/decisions?to=x",
                                   "/v1/decisions?limit=-1"}) {
    const HttpReply reply = get(target);
    EXPECT_EQ(reply.status, 400) << target;
    EXPECT_FALSE(json::parse(reply.body)["field"].get<std::string>().empty()) << target;
  }
}

TEST_F(RestHistoryTest, TellsCallersWhoTheyAreAndWhichPoliciesThereAre) {
  EXPECT_EQ(json::parse(get("/v1/me").body)["role"], "admin");
  const json policies = json::parse(get("/v1/policies").body)["policies"];
  ASSERT_GT(policies.size(), 5);
  EXPECT_FALSE(policies[0]["paper"].get<std::string>().empty());
}

TEST_F(RestHistoryTest, PagesLeadToTheDocumentForBrowsersOnly) {
  for (const char* const page : {"/", "/jobs", "/jobs/42", "/plan", "/past", "/nodes"}) {
    const HttpReply reply = get(page, "text/html,*/*;q=0.8");
    EXPECT_EQ(reply.status, 200) << page;
    EXPECT_EQ(reply.body, "the document") << page;
    bool has_policy = false;
    for (const auto& [name, value] : reply.headers) {
      has_policy |= name == "Content-Security-Policy" &&
                    value.find("script-src 'self'") != std::string::npos &&
                    value.find("unsafe") == std::string::npos;
    }
    EXPECT_TRUE(has_policy) << page;
  }
  EXPECT_EQ(get("/jobs/42").status, 404) << "programs are told the truth";
  EXPECT_EQ(get("/nowhere", "text/html").status, 404);
  EXPECT_EQ(get("/v1/nowhere", "text/html").status, 404);
  EXPECT_EQ(get("/app.js").body, "1");
}

}  // namespace
}  // namespace rubato
