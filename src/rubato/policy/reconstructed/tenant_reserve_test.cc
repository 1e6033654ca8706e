#include "rubato/policy/reconstructed/tenant_reserve.h"

#include <gtest/gtest.h>

#include "rubato/base/random.h"
#include "rubato/policy/baseline/fifo.h"
#include "rubato/policy/testing/policy_scene.h"

namespace rubato::policy::reconstructed {
namespace {

using planning::SiteCapacities;

TEST(TenantReserve, GivesNeighbouringGpus) {
  const Topology topology = Topology::parse("3x4").value();

  const auto reserves =
      reserves_of({{"a", 0.5}, {"b", 0.25}, {"c", 0.25}}, topology.pools()[0], topology);

  EXPECT_EQ(reserves[0], (SiteCapacities{{4}, {2}, {0}}));
  EXPECT_EQ(reserves[1], (SiteCapacities{{0}, {2}, {1}}));
  EXPECT_EQ(reserves[2], (SiteCapacities{{0}, {0}, {3}}));
}

TEST(TenantReserve, NeverGivesAGpuTwiceAndLosesLessThanOnePerTenant) {
  const Topology topology = Topology::parse("5x4").value();
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    std::vector<TenantShare> tenants;
    double left = 1;
    for (int i = 0; i < 4; ++i) {
      tenants.push_back({.name = std::to_string(i), .share = random.uniform(0, left)});
      left -= tenants.back().share;
    }
    const auto reserves = reserves_of(tenants, topology.pools()[0], topology);
    std::vector<int> on_node(5, 0);
    for (std::size_t tenant = 0; tenant < tenants.size(); ++tenant) {
      int total = 0;
      for (std::size_t node = 0; node < on_node.size(); ++node) {
        ASSERT_GE(reserves[tenant][node][0], 0);
        on_node[node] += reserves[tenant][node][0];
        total += reserves[tenant][node][0];
      }
      ASSERT_LT(std::abs(total - tenants[tenant].share * 20), 1) << "seed " << seed;
    }
    for (const int gpus : on_node) {
      ASSERT_LE(gpus, 4) << "seed " << seed;
    }
  }
}

TEST(Tenants, AreEqualUnlessSharesAreGiven) {
  const auto fifo = [] { return baseline::make_fifo(PolicyOptions{}); };
  Job first = linear_job(1, 0, 1, 10);
  Job second = linear_job(2, 0, 1, 10);
  first.tenant = "b";
  second.tenant = "a";
  Scene scene(fifo);
  scene.submit({first, second});
  scene.run_until(1);
  Scene shared(fifo, {.tenants = {{"x", 0.7}}});

  EXPECT_EQ(tenants_of(scene.view()), (std::vector<TenantShare>{{"a", 0.5}, {"b", 0.5}}));
  EXPECT_EQ(tenants_of(shared.view()), (std::vector<TenantShare>{{"x", 0.7}}));
}

}  // namespace
}  // namespace rubato::policy::reconstructed
