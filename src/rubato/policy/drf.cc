#include "rubato/policy/drf.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "rubato/policy/dominant_share.h"
#include "rubato/policy/gang.h"
#include "rubato/policy/round_policy.h"

namespace rubato {
namespace {

/// A job as a task: its demand has one entry above zero.
struct Task {
  Seat* seat = nullptr;
  Gang gang{};
  std::vector<double> demand{};
};

/// The tasks of a tenant that it has not been given yet, oldest first.
struct Tenant {
  std::vector<Task> tasks{};
  std::size_t next = 0;
};

using Tenants = std::map<std::string_view, Tenant>;

Tenants tenants_of(const View& view, std::span<Seat> seats) {
  Tenants tenants;
  for (Seat& seat : seats) {
    Task task{.seat = &seat, .gang = gang_of(*seat.job, view).value_or(Gang{})};
    seat.pool = task.gang.pool;
    task.demand.assign(view.capacity.size(), 0);
    task.demand[task.gang.pool.value] = task.gang.workers;
    tenants[seat.job->job.tenant].tasks.push_back(std::move(task));
  }
  return tenants;
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

class Drf final : public RoundPolicy {
 public:
  explicit Drf(DrfOptions options) : options_(options) {}

  [[nodiscard]] Traits traits() const override {
    return Traits{.resizes = false, .promises = false, .artifact_charge = ArtifactCharge::OnStart};
  }

 protected:
  void hold_round(const View& view, std::span<Seat> seats) override {
    Tenants by_name = tenants_of(view, seats);
    DominantShares shares({view.capacity.begin(), view.capacity.end()},
                          weights_of(by_name, view.tenants));
    std::vector<Tenant*> tenants;
    for (auto& [name, tenant] : by_name) {
      tenants.push_back(&tenant);
    }
    if (!options_.preempts) {
      keep_running(tenants, shares);
    }
    serve(tenants, shares);
  }

 private:
  static void give(std::size_t user, const Task& task, DominantShares& shares) {
    shares.give(user, task.demand);
    task.seat->workers = task.gang.workers;
  }

  // Who runs goes on and is no longer among the tasks to hand out.
  static void keep_running(std::span<Tenant* const> tenants, DominantShares& shares) {
    for (std::size_t user = 0; user < tenants.size(); ++user) {
      std::erase_if(tenants[user]->tasks, [&](const Task& task) {
        const bool runs = task.seat->job->share > 0 && shares.fits(task.demand);
        if (runs) {
          give(user, task, shares);
        }
        return runs;
      });
    }
  }

  void serve(std::span<Tenant* const> tenants, DominantShares& shares) const {
    std::vector<bool> is_served(tenants.size(), true);
    for (std::size_t user = 0; user < tenants.size(); ++user) {
      is_served[user] = !tenants[user]->tasks.empty();
    }
    for (std::size_t user = shares.poorest(is_served); user < tenants.size();
         user = shares.poorest(is_served)) {
      Tenant& tenant = *tenants[user];
      const Task& task = tenant.tasks[tenant.next++];
      if (shares.fits(task.demand)) {
        give(user, task, shares);
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

}  // namespace rubato
