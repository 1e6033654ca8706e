#include "rubato/place/hived/virtual_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/base/random.h"
#include "rubato/place/small_cluster_test.h"

namespace rubato {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(VirtualCluster, OfAShareIsMadeOfNodesAndALargestRest) {
  const std::vector<TenantPart> tenants = {{.name = "a", .share = 0.5},
                                           {.name = "b", .share = 0.2}};

  const auto clusters = clusters_by_share(tenants, cluster("3x8"));

  EXPECT_THAT(clusters[0].cells, ElementsAre(ElementsAre(0, 0, 1, 1, 0)));  // 12 of 24.
  EXPECT_THAT(clusters[1].cells, ElementsAre(ElementsAre(0, 0, 1, 0, 0)));  // 4.8 become 4.
}

TEST(VirtualCluster, OfAThirdHasNoGpuLess) {
  const std::vector<TenantPart> tenants = {{.name = "a", .share = 1.0 / 3}};
  const Topology six = cluster("3x2");

  EXPECT_EQ(gpus_of(clusters_by_share(tenants, six)[0], cells_of(six)[0], PoolId{0}), 2);
}

TEST(VirtualCluster, SharesAlwaysFitTogether) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    std::vector<TenantPart> tenants;
    double left = 1;
    for (int i = 0; i < 4; ++i) {
      const double share = left * random.uniform();
      left -= share;
      tenants.push_back({.name = std::to_string(i), .share = share});
    }
    const Topology topology(
        std::vector<NodeGroup>{{.nodes = static_cast<int>(random.integer(1, 6)),
                                .gpus_per_node = static_cast<int>(random.integer(1, 12)),
                                .nodes_per_rack = static_cast<int>(random.integer(0, 3))}});

    ASSERT_TRUE(check_clusters(clusters_by_share(tenants, topology), topology).ok())
        << "seed " << seed;
  }
}

TEST(VirtualCluster, IsReadFromText) {
  const Topology topology = cluster("2x8:A100@west+2x4:T4");

  const auto clusters =
      parse_clusters("research:1x8+2x2:A100@west/products:1x4:T4", topology).value();

  EXPECT_EQ(clusters[0].tenant, "research");
  EXPECT_THAT(clusters[0].cells, ElementsAre(ElementsAre(0, 2, 0, 1, 0), ElementsAre(0, 0, 0, 0)));
  EXPECT_THAT(clusters[1].cells, ElementsAre(ElementsAre(0, 0, 0, 0, 0), ElementsAre(0, 0, 1, 0)));
  EXPECT_TRUE(check_clusters(clusters, topology).ok());
}

TEST(VirtualCluster, SaysWhatIsWrongWithTheText) {
  const Topology topology = cluster("2x4:T4");
  const auto problem = [&](std::string_view text) {
    const auto clusters = parse_clusters(text, topology);
    return clusters ? std::string{} : clusters.error().message;
  };

  EXPECT_THAT(problem("a"), HasSubstr("expected TENANT:COUNTxGPUS"));
  EXPECT_THAT(problem("a:2"), HasSubstr("'2' is not COUNTxGPUS"));
  EXPECT_THAT(problem("a:0x4"), HasSubstr("'0x4' is not COUNTxGPUS"));
  EXPECT_THAT(problem("a:1x3"), HasSubstr("no pool has cells for '1x3'"));
  EXPECT_THAT(problem("a:1x4:V100"), HasSubstr("no pool has cells for '1x4:V100'"));
  EXPECT_THAT(problem("a:1x4@moon"), HasSubstr("no pool has cells for '1x4@moon'"));
  EXPECT_THAT(problem("a:1x4/a:1x1"), HasSubstr("'a' is there twice"));
  const auto too_many = parse_clusters("a:1x4+1x1/b:1x4", topology).value();
  EXPECT_THAT(check_clusters(too_many, topology).error().message, HasSubstr("cannot hold"));
}

}  // namespace
}  // namespace rubato
