#include "rubato/policy/goodput/canonical_shares.h"

#include <algorithm>

namespace rubato::policy::goodput {

std::vector<CanonicalShare> canonical_shares(const Pool& pool, int gpus_up, int workers_max) {
  const int most = std::min(gpus_up, workers_max);
  std::vector<CanonicalShare> shares;
  for (int workers = 1; workers < pool.gpus_per_node && workers <= most; workers *= 2) {
    shares.push_back({.workers = workers, .nodes = 1});
  }
  for (int nodes = 1; nodes * pool.gpus_per_node <= most; ++nodes) {
    shares.push_back({.workers = nodes * pool.gpus_per_node, .nodes = nodes});
  }
  return shares;
}

}  // namespace rubato::policy::goodput
