// What a policy may look at while it decides: the present, and nothing it could keep.
#pragma once

#include <span>
#include <vector>

#include "rubato/base/random.h"
#include "rubato/base/time.h"
#include "rubato/core/job_table.h"
#include "rubato/core/topology.h"
#include "rubato/policy/tenant_share.h"
#include "rubato/predict/goodput_book.h"
#include "rubato/predict/resize_cost.h"
#include "rubato/predict/speed_book.h"

namespace rubato {

/// Borrowed for one call.
struct View {
  Instant now{};
  const Topology& topology;
  std::span<const int> capacity{};  // GPUs that are up, per pool.
  const JobTable& jobs;
  const SpeedBook& speeds;
  const GoodputBook* goodputs = nullptr;  // Null if nobody keeps one.
  const ResizeCost& costs;
  Duration slot{};  // Shares should not be decided anew more often than this.
  Random& random;
  const std::vector<bool>* nodes_up = nullptr;  // Null: all are.
  std::span<const TenantShare> tenants{};       // Empty: all tenants are equal.

  [[nodiscard]] const ScalingCurve& curve(const JobState& job, PoolId pool) const {
    return speeds.curve(job.speed, pool);
  }
  /// Steps per second the job is expected to make with this many workers, close together.
  [[nodiscard]] double speed(const JobState& job, PoolId pool, int workers) const {
    return curve(job, pool).speed(workers) * job.speed_factor;
  }
  /// How fast a job learns; null if its batch cannot adapt.
  [[nodiscard]] const JobGoodput* goodput(JobId job) const {
    return goodputs == nullptr ? nullptr : goodputs->find(job);
  }
  [[nodiscard]] bool is_up(NodeId node) const {
    return nodes_up == nullptr || (*nodes_up)[node.value];
  }
  [[nodiscard]] int gpus_up() const {
    int total = 0;
    for (const int gpus : capacity) {
      total += gpus;
    }
    return total;
  }
};

}  // namespace rubato
