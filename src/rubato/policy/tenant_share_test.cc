#include "rubato/policy/tenant_share.h"

#include <gtest/gtest.h>

namespace rubato {
namespace {

TEST(TenantShares, ReadWhatTheyWrite) {
  const auto tenants = parse_tenants("research=0.5,products=0.3");

  ASSERT_TRUE(tenants);
  EXPECT_EQ(to_string(*tenants), "research=0.5,products=0.3");
}

TEST(TenantShares, AreNoneWithoutText) { EXPECT_TRUE(parse_tenants("")->empty()); }

TEST(TenantShares, MayAddUpToOneInThirds) {
  EXPECT_TRUE(parse_tenants("a=0.3333333333,b=0.3333333333,c=0.3333333334"));
}

TEST(TenantShares, NameThePartThatIsWrong) {
  EXPECT_EQ(parse_tenants("a=0.5,b").error().message,
            "tenants: 'b' is not NAME=SHARE with a share above 0 and up to 1");
  EXPECT_FALSE(parse_tenants("=0.5"));
  EXPECT_FALSE(parse_tenants("a=0"));
  EXPECT_FALSE(parse_tenants("a=0.5,a=0.5"));
  EXPECT_FALSE(parse_tenants("a=0.6,b=0.6"));
}

}  // namespace
}  // namespace rubato
