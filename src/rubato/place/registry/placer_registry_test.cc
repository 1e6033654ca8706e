#include "rubato/place/registry/placer_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rubato {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::string problem(std::string_view text) {
  const auto made = make_placer(text, Topology::parse("2x4").value(), {});
  return made ? std::string{} : made.error().message;
}

TEST(PlacerRegistry, MakesEveryPlacerByItsName) {
  for (const PlacerInfo& info : all_placers()) {
    EXPECT_EQ(problem(info.name), "") << info.name;
  }
}

TEST(PlacerRegistry, SaysWhatIsWrong) {
  EXPECT_THAT(problem("hive"), HasSubstr("did you mean 'hived'"));
  EXPECT_THAT(problem("buddy:size=3"), HasSubstr("takes no options"));
  EXPECT_THAT(problem("hived:cv=a:1x4"), HasSubstr("expected vc="));
  EXPECT_THAT(problem("hived:vc=a:1x3"), HasSubstr("no pool has cells"));
  EXPECT_THAT(problem("hived:vc=a:3x4"), HasSubstr("cannot hold"));
}

TEST(PlacerRegistry, VirtualClustersFollowTheTenantsUnlessTheyAreGiven) {
  const Topology topology = Topology::parse("2x4").value();
  const std::vector<TenantPart> tenants = {{.name = "a", .share = 0.75}};

  const auto by_share = make_placer("hived", topology, tenants).value();
  const auto given = make_placer("hived:vc=b:1x2", topology, tenants).value();
  const auto shared = make_placer("hived", topology, {}).value();

  EXPECT_EQ(by_share->quotas().at(0).tenant, "a");
  EXPECT_EQ(by_share->quotas().at(0).gpus, std::vector<int>{6});
  EXPECT_EQ(given->quotas().at(0).gpus, std::vector<int>{2});
  EXPECT_EQ(shared->quotas().at(0).gpus, std::vector<int>{8});
  EXPECT_THAT(make_placer("buddy", topology, tenants).value()->quotas(), IsEmpty());
}

}  // namespace
}  // namespace rubato
