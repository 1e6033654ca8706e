#include "rubato/policy/baseline/fifo.h"

#include <algorithm>
#include <set>

#include "rubato/policy/baseline/arrival_lines.h"
#include "rubato/policy/rounds/gang_policy.h"

namespace rubato::policy::baseline {
namespace {

class Fifo final : public rounds::GangPolicy {
 protected:
  void joins(const JobState& job, const View& /*view*/) override {
    if (!is_running(job.id())) {
      lines_.join(job, choices(job.id()));
    }
  }
  void loses_workers(const JobState& job, const View& /*view*/) override {
    lines_.join(job, choices(job.id()));
  }
  void leaves(JobId job, Outcome /*outcome*/) override { lines_.leave(job); }

  void hold_round(const View& view, Decision& decision) override {
    std::set<PoolId> taken;  // By jobs that could not start.
    while (const ArrivalLines::Place* first = first_outside(taken)) {
      const JobId job = first->second;
      const auto where = std::ranges::find_if(choices(job), [&](const rounds::Gang& gang) {
        return !taken.contains(gang.pool) &&
               gang.workers <= view.capacity[gang.pool.value] - gpus_used(gang.pool);
      });
      if (where == choices(job).end()) {
        for (const rounds::Gang& gang : choices(job)) {
          taken.insert(gang.pool);
        }
        continue;
      }
      lines_.leave(job);
      start(job, *where, decision);
    }
  }

  void clear() override { lines_.clear(); }

 private:
  // The first in line who can run in a pool that nobody ahead of it waits for; null if none can.
  [[nodiscard]] const ArrivalLines::Place* first_outside(const std::set<PoolId>& taken) const {
    const ArrivalLines::Place* first = nullptr;
    for (const auto& [pools, line] : lines_.lines()) {
      const bool can = !line.empty() && !std::ranges::all_of(pools, [&](PoolId pool) {
        return taken.contains(pool);
      });
      if (can && (first == nullptr || *line.begin() < *first)) {
        first = &*line.begin();
      }
    }
    return first;
  }

  ArrivalLines lines_;
};

}  // namespace

Result<std::unique_ptr<Policy>> make_fifo(const PolicyOptions& options) {
  if (Status status = options.only({}); !status) {
    return status.error();
  }
  return std::unique_ptr<Policy>(std::make_unique<Fifo>());
}

PolicyInfo fifo_policy() {
  return {.name = "fifo",
          .paper = "folklore",
          .fidelity = "exact",
          .objective = "order of arrival",
          .needs = "requested GPUs",
          .use_when = "as a baseline",
          .make = make_fifo};
}

}  // namespace rubato::policy::baseline
