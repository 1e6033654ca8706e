#include "rubato/runtime/worker/worker_address.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace rubato {
namespace {

class WorkerAddressTest : public testing::Test {
 protected:
  void SetUp() override { TearDown(); }
  void TearDown() override {
    for (const char* name : {"RUBATO_CONDUCTOR", "RUBATO_WORKER", "RUBATO_TOKEN", "RUBATO_HOST"}) {
      ::unsetenv(name);
    }
  }
  static void set(const char* name, const char* value) { ::setenv(name, value, 1); }
};

TEST_F(WorkerAddressTest, IsEmptyOutsideOfAJob) {
  const auto address = worker_address();

  ASSERT_TRUE(address.ok());
  EXPECT_EQ(address->socket, "");
}

TEST_F(WorkerAddressTest, IsWhatTheConductorHasSet) {
  set("RUBATO_CONDUCTOR", "/tmp/job/conductor");
  set("RUBATO_WORKER", "3");
  set("RUBATO_TOKEN", "18446744073709551615");
  set("RUBATO_HOST", "node1");

  const auto address = worker_address();

  ASSERT_TRUE(address.ok());
  EXPECT_EQ(address->socket, "/tmp/job/conductor");
  EXPECT_EQ(address->worker, 3U);
  EXPECT_EQ(address->token, 18446744073709551615U);
  EXPECT_EQ(address->host, "node1");
}

TEST_F(WorkerAddressTest, NamesWhatIsNoNumber) {
  set("RUBATO_CONDUCTOR", "/tmp/job/conductor");
  set("RUBATO_WORKER", "3x");
  EXPECT_EQ(worker_address().error().message, "RUBATO_WORKER should be a number, found '3x'");

  set("RUBATO_WORKER", "3");
  EXPECT_EQ(worker_address().error().message, "RUBATO_TOKEN should be a number, found ''");
}

}  // namespace
}  // namespace rubato
