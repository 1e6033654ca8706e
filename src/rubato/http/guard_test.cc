#include "rubato/http/guard.h"

#include <gtest/gtest.h>

namespace rubato {
namespace {

TEST(HttpGuard, KnowsTheNamesOfLoopback) {
  for (const char* const host : {"localhost", "LocalHost:8421", "127.0.0.1", "127.0.0.1:80",
                                 "127.255.1.2:65535", "[::1]", "[::1]:8421"}) {
    EXPECT_TRUE(is_loopback_host(host)) << host;
  }
  for (const char* const host :
       {"", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "128.0.0.1",
        "127.0.0", "127.0.0.256", "127.0.0.1.1", "127.0.0.1.", "::1", "[::2]", "[::1", "localhost:",
        "localhost:x", "localhost:80:80", "127.0.0.1, 127.0.0.1", "0.0.0.0", "10.0.0.1"}) {
    EXPECT_FALSE(is_loopback_host(host)) << host;
  }
}

TEST(HttpGuard, RefusesForeignNamesOnlyOnLoopback) {
  const HttpRequest request{.headers = {{"host", "evil.example:8421"}}};

  EXPECT_TRUE(foreign_request(request, /*is_loopback_only=*/true).has_value());
  EXPECT_FALSE(foreign_request(request, /*is_loopback_only=*/false).has_value());
}

TEST(HttpGuard, OnlyOldClientsMayLeaveTheNameOut) {
  EXPECT_FALSE(foreign_request({.is_http_1_0 = true}, true).has_value());
  EXPECT_TRUE(foreign_request({}, true).has_value());
}

TEST(HttpGuard, RefusesPagesOfOtherOrigins) {
  const auto is_refused = [](const char* origin, bool is_tls) {
    const HttpRequest request{.headers = {{"host", "localhost:8421"}, {"origin", origin}},
                              .is_tls = is_tls};
    return foreign_request(request, true).has_value();
  };
  EXPECT_FALSE(is_refused("http://localhost:8421", false));
  EXPECT_FALSE(is_refused("https://LOCALHOST:8421", true));
  EXPECT_TRUE(is_refused("http://localhost:8421", true));
  EXPECT_TRUE(is_refused("http://localhost:8422", false));
  EXPECT_TRUE(is_refused("http://127.0.0.1:8421", false));
  EXPECT_TRUE(is_refused("https://evil.example", false));
  EXPECT_TRUE(is_refused("null", false));
  EXPECT_TRUE(is_refused("", false));
}

}  // namespace
}  // namespace rubato
