#include "rubato/policy/goodput/canonical_shares.h"

#include <gtest/gtest.h>

namespace rubato::policy::goodput {
namespace {

std::vector<int> workers_of(std::string_view cluster, int gpus_up, int workers_max) {
  const Topology topology = Topology::parse(cluster).value();
  std::vector<int> workers;
  for (const CanonicalShare& share :
       canonical_shares(topology.pools().front(), gpus_up, workers_max)) {
    workers.push_back(share.workers);
  }
  return workers;
}

TEST(CanonicalShares, ArePowersOfTwoThenWholeNodes) {
  EXPECT_EQ(workers_of("4x4", 16, 64), (std::vector<int>{1, 2, 4, 8, 12, 16}));
  EXPECT_EQ(workers_of("3x6", 18, 64), (std::vector<int>{1, 2, 4, 6, 12, 18}));
  EXPECT_EQ(workers_of("3x1", 3, 64), (std::vector<int>{1, 2, 3}));
}

TEST(CanonicalShares, EndAtWhatIsUpAndAtWhatIsPermitted) {
  EXPECT_EQ(workers_of("4x4", 12, 64), (std::vector<int>{1, 2, 4, 8, 12}));
  EXPECT_EQ(workers_of("4x4", 16, 5), (std::vector<int>{1, 2, 4}));
  EXPECT_TRUE(workers_of("4x4", 0, 64).empty());
}

TEST(CanonicalShares, KnowTheirNodes) {
  const Topology topology = Topology::parse("4x4").value();

  const auto shares = canonical_shares(topology.pools().front(), 16, 64);

  EXPECT_EQ(shares[1].nodes, 1);
  EXPECT_EQ(shares[2].nodes, 1);
  EXPECT_EQ(shares[3].nodes, 2);
}

}  // namespace
}  // namespace rubato::policy::goodput
