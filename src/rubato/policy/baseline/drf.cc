#include "rubato/policy/baseline/drf.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "rubato/policy/baseline/dominant_share.h"
#include "rubato/policy/rounds/gang.h"
#include "rubato/policy/rounds/round_policy.h"

namespace rubato::policy::baseline {
namespace {

using rounds::Gang;
using rounds::Seat;

/// A job as a task, and where it can run.
struct Task {
  Seat* seat = nullptr;
  std::vector<Gang> gangs{};  // Where it runs now first, then in the order of pools.
};

/// The tasks of a tenant that it has not been given yet, oldest first.
struct Tenant {
  std::vector<Task> tasks{};
  std::size_t next = 0;
};

/// What is handed out at a round.
struct Supply {
  DominantShares shares;
  std::vector<int> idle{};  // GPUs that nobody ran on when the round began.
};

using Tenants = std::map<std::string_view, Tenant>;

// All pools that are wide enough; if none is, the one a gang policy would take.
std::vector<Gang> task_gangs(const JobState& job, const View& view) {
  std::vector<Gang> gangs;
  for (const Pool& pool : view.topology.pools()) {
    if (const auto gang = rounds::gang_in(job, pool, view);
        gang && job.job.requested <= pool.gpus) {
      gangs.push_back(*gang);
    }
  }
  if (gangs.empty()) {
    gangs.push_back(rounds::gang_of(job, view).value_or(Gang{}));
  }
  static_cast<void>(std::ranges::stable_partition(
      gangs, [&](const Gang& gang) { return job.share > 0 && gang.pool == job.pool(); }));
  return gangs;
}

Tenants tenants_of(const View& view, std::span<Seat> seats) {
  Tenants tenants;
  for (Seat& seat : seats) {
    tenants[seat.job->job.tenant].tasks.push_back(
        Task{.seat = &seat, .gangs = task_gangs(*seat.job, view)});
  }
  return tenants;
}

std::vector<int> idle_gpus(const View& view, std::span<const Seat> seats) {
  std::vector<int> idle(view.capacity.begin(), view.capacity.end());
  for (const Seat& seat : seats) {
    if (seat.job->share > 0) {
      idle[seat.job->pool().value] -= seat.job->share;
    }
  }
  return idle;
}

bool runs_in(const Task& task, PoolId pool) {
  return task.seat->job->share > 0 && task.seat->job->pool() == pool;
}

// One entry for each pool: GPUs of this gang.
std::vector<double> demand_of(const Gang& gang, const Supply& supply) {
  std::vector<double> demand(supply.idle.size(), 0);
  demand[gang.pool.value] = gang.workers;
  return demand;
}

// Where the task fits; null if nowhere. Rather on idle GPUs, so that nobody moves for nothing.
const Gang* place_for(const Task& task, const Supply& supply) {
  const Gang* found = nullptr;
  for (const Gang& gang : task.gangs) {
    if (!supply.shares.fits(demand_of(gang, supply))) {
      continue;
    }
    if (runs_in(task, gang.pool) || gang.workers <= supply.idle[gang.pool.value]) {
      return &gang;
    }
    found = found == nullptr ? &gang : found;
  }
  return found;
}

void give(std::size_t user, const Task& task, const Gang& gang, Supply& supply) {
  supply.shares.give(user, demand_of(gang, supply));
  if (!runs_in(task, gang.pool)) {
    supply.idle[gang.pool.value] -= gang.workers;
  }
  task.seat->pool = gang.pool;
  task.seat->workers = gang.workers;
}

std::vector<double> weights_of(const Tenants& tenants, std::span<const TenantShare> entitled) {
  double least = 1;
  for (const TenantShare& tenant : entitled) {
    least = std::min(least, tenant.share);
  }
  std::vector<double> weights;
  for (const auto& [name, tenant] : tenants) {
    const auto found = std::ranges::find(entitled, name, &TenantShare::name);
    weights.push_back(found == entitled.end() ? least : found->share);
  }
  return weights;
}

class Drf final : public rounds::RoundPolicy {
 public:
  explicit Drf(DrfOptions options) : options_(options) {}

  [[nodiscard]] Traits traits() const override {
    return Traits{.resizes = false, .promises = false, .artifact_charge = ArtifactCharge::OnStart};
  }

 protected:
  void hold_round(const View& view, std::span<Seat> seats) override {
    Tenants by_name = tenants_of(view, seats);
    Supply supply{.shares = DominantShares({view.capacity.begin(), view.capacity.end()},
                                           weights_of(by_name, view.tenants)),
                  .idle = idle_gpus(view, seats)};
    std::vector<Tenant*> tenants;
    for (auto& [name, tenant] : by_name) {
      tenants.push_back(&tenant);
    }
    if (!options_.preempts) {
      keep_running(tenants, supply);
    }
    serve(tenants, supply);
  }

 private:
  // Who runs goes on and is no longer among the tasks to hand out.
  static void keep_running(std::span<Tenant* const> tenants, Supply& supply) {
    for (std::size_t user = 0; user < tenants.size(); ++user) {
      std::erase_if(tenants[user]->tasks, [&](const Task& task) {
        const Gang& here = task.gangs.front();
        const bool goes_on =
            runs_in(task, here.pool) && supply.shares.fits(demand_of(here, supply));
        if (goes_on) {
          give(user, task, here, supply);
        }
        return goes_on;
      });
    }
  }

  void serve(std::span<Tenant* const> tenants, Supply& supply) const {
    std::vector<bool> is_served(tenants.size(), true);
    for (std::size_t user = 0; user < tenants.size(); ++user) {
      is_served[user] = !tenants[user]->tasks.empty();
    }
    for (std::size_t user = supply.shares.poorest(is_served); user < tenants.size();
         user = supply.shares.poorest(is_served)) {
      Tenant& tenant = *tenants[user];
      const Task& task = tenant.tasks[tenant.next++];
      if (const Gang* gang = place_for(task, supply)) {
        give(user, task, *gang, supply);
      } else if (options_.strict) {
        return;
      }
      is_served[user] = tenant.next < tenant.tasks.size();
    }
  }

  DrfOptions options_;
};

}  // namespace

std::unique_ptr<Policy> make_drf(DrfOptions options) { return std::make_unique<Drf>(options); }

Result<std::unique_ptr<Policy>> make_drf(const PolicyOptions& options) {
  static constexpr std::array<std::string_view, 2> kKeys = {"strict", "preempt"};
  if (Status status = options.only(kKeys); !status) {
    return status.error();
  }
  DrfOptions chosen;
  const auto strict = options.flag("strict", chosen.strict);
  const auto preempts = options.flag("preempt", chosen.preempts);
  if (!strict || !preempts) {
    return !strict ? strict.error() : preempts.error();
  }
  chosen.strict = *strict;
  chosen.preempts = *preempts;
  return make_drf(chosen);
}

PolicyInfo drf_policy() {
  return {.name = "drf",
          .paper = "DRF, NSDI'11",
          .fidelity = "after DRF; tasks are jobs on the GPUs they asked for",
          .objective = "equal or weighted parts for tenants",
          .needs = "requested GPUs, tenant",
          .use_when = "several tenants share the cluster and jobs cannot be resized",
          .options = "strict=off, preempt=on",
          .make = make_drf};
}

}  // namespace rubato::policy::baseline
