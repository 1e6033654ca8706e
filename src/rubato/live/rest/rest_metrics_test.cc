#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "rubato/live/rest/rest_api.h"
#include "rubato/live/service/memory_platform_test.h"

namespace rubato {
namespace {

class RestMetricsTest : public testing::Test {
 protected:
  HttpReply get(const std::string& target) {
    return api_.handle({.method = "GET", .target = target, .headers = {{"host", "localhost"}}});
  }
  nlohmann::json found(const std::string& target) {
    const HttpReply reply = get(target);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return nlohmann::json::parse(reply.body);
  }
  std::string field_to_blame(const std::string& target) {
    const HttpReply reply = get(target);
    EXPECT_EQ(reply.status, 400) << target;
    return nlohmann::json::parse(reply.body).value("field", "");
  }

  MemoryPlatform platform_;
  RestApi api_{platform_, {}};
};

TEST_F(RestMetricsTest, AsksForSomeMetricsOfAJob) {
  EXPECT_EQ(found("/v1/jobs/1/metrics")["lines"][0]["steps"][0], 500);
  EXPECT_EQ(found("/v1/jobs/1/metrics?points=7")["lines"][0]["steps"][0], 7);
  EXPECT_EQ(found("/v1/jobs/1/metrics?names=loss,acc")["lines"].size(), 1);
  EXPECT_EQ(found("/v1/jobs/1/metrics?names=acc")["lines"].size(), 0);
  EXPECT_EQ(found("/v1/jobs/1/metrics?names=acc")["names"][0], "loss");
}

TEST_F(RestMetricsTest, ComparesJobsEachOnceInTheirOrder) {
  const nlohmann::json reply = found("/v1/metrics?jobs=17,3,17&name=val%2Floss");

  EXPECT_EQ(reply["name"], "val/loss");
  ASSERT_EQ(reply["jobs"].size(), 2);
  EXPECT_EQ(reply["jobs"][0]["job"], "17");
}

TEST_F(RestMetricsTest, BlamesTheParameter) {
  EXPECT_EQ(field_to_blame("/v1/jobs/1/metrics?points=0"), "points");
  EXPECT_EQ(field_to_blame("/v1/jobs/1/metrics?points=1001"), "points");
  EXPECT_EQ(field_to_blame("/v1/metrics?name=loss"), "jobs");
  EXPECT_EQ(field_to_blame("/v1/metrics?name=loss&jobs=x"), "jobs");
  EXPECT_EQ(field_to_blame("/v1/metrics?name=loss&jobs=0"), "jobs");
  EXPECT_EQ(field_to_blame("/v1/metrics?jobs=1"), "name");
  EXPECT_EQ(field_to_blame("/v1/metrics?jobs=1&name=a,b"), "name");
  std::string many = "1";
  for (int i = 2; i <= 21; ++i) {
    many += "," + std::to_string(i);
  }
  EXPECT_EQ(field_to_blame("/v1/metrics?name=loss&jobs=" + many), "jobs");
}

}  // namespace
}  // namespace rubato
