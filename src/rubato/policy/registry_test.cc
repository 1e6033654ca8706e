#include "rubato/policy/registry.h"

#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

namespace rubato {
namespace {

TEST(Registry, ListsEachPolicyOnceInAlphabeticalOrder) {
  std::vector<std::string_view> names;
  for (const PolicyInfo& info : all_policies()) {
    names.push_back(info.name);
    EXPECT_FALSE(info.paper.empty() || info.fidelity.empty() || info.objective.empty() ||
                 info.needs.empty())
        << info.name;
  }

  EXPECT_TRUE(std::ranges::is_sorted(names, std::less_equal{}));
}

TEST(Registry, MakesEachPolicyWithoutOptions) {
  for (const PolicyInfo& info : all_policies()) {
    EXPECT_TRUE(make_policy(info.name).ok()) << info.name;
  }
}

TEST(Registry, PassesOptionsOn) {
  EXPECT_TRUE(make_policy("tiresias:thresholds=57600").ok());
  EXPECT_TRUE(make_policy("tiresias:thresholds=3250/7200,gittins=on").ok());
  EXPECT_FALSE(make_policy("tiresias:thresholds=high").ok());
  EXPECT_FALSE(make_policy("fifo:order=strict").ok());
  EXPECT_FALSE(make_policy("tiresias:gittins").ok());
}

TEST(Registry, SuggestsTheNearestName) {
  const auto policy = make_policy("tiresas:thresholds=1");

  ASSERT_FALSE(policy.ok());
  EXPECT_EQ(policy.error().code, ErrorCode::NotFound);
  EXPECT_NE(policy.error().message.find("did you mean 'tiresias'"), std::string::npos);
}

TEST(Registry, FindsNothingUnderAnEmptyName) {
  EXPECT_FALSE(make_policy("").ok());
  EXPECT_FALSE(make_policy(":thresholds=1").ok());
}

}  // namespace
}  // namespace rubato
