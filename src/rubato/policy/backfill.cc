#include "rubato/policy/backfill.h"

#include <array>
#include <string_view>
#include <vector>

#include "rubato/core/ledger.h"
#include "rubato/policy/arrival_lines.h"
#include "rubato/policy/gang_policy.h"

namespace rubato {
namespace {

// Time without progress that a start will cost.
Duration start_pause(const JobState& job, int workers, const View& view) {
  switch (view.costs.accounting()) {
    case Accounting::None:
      return Duration{};
    case Accounting::Artifact:
      return view.costs.artifact(workers, /*known_set=*/false, /*restarts=*/false);
    case Accounting::Physical:
      return view.costs.physical(job.job, {.from = 0, .to = workers});
  }
  return Duration{};
}

class Backfill final : public GangPolicy {
 public:
  explicit Backfill(BackfillOptions options) : options_(options) {}

 protected:
  void joins(const JobState& job, const View& view) override {
    lines_.resize(view.topology.pools().size());
    running_.resize(view.topology.pools().size());
    const PoolId pool = gang(job.id()).pool;
    if (is_running(job.id())) {
      running_[pool.value].insert(job.id());
    } else {
      lines_.join(job, pool);
    }
  }
  void loses_workers(const JobState& job, const View& /*view*/) override {
    running_[gang(job.id()).pool.value].erase(job.id());
    lines_.join(job, gang(job.id()).pool);
  }
  void leaves(JobId job, Outcome /*outcome*/) override {
    lines_.leave(job);
    if (is_member(job)) {
      running_[gang(job).pool.value].erase(job);
    }
  }
  void hold_round(const View& view, Decision& decision) override {
    for (std::size_t pool = 0; pool < lines_.pools(); ++pool) {
      for (const JobId job : due_to_start(PoolId{pool}, view)) {
        lines_.leave(job);
        running_[pool].insert(job);
        start(job, decision);
      }
    }
  }
  void clear() override {
    lines_.clear();
    running_.clear();
  }

 private:
  // GPUs of the pool over time beside the running jobs.
  [[nodiscard]] Ledger ledger_of(PoolId pool, const View& view) const {
    Ledger ledger(view.capacity[pool.value]);
    for (const JobId id : running_[pool.value]) {
      const JobState& job = view.jobs.at(id);
      const Instant finish = job.progress.finish(job.job.work);
      // One that should be over by now still holds its GPUs, for an instant more at least.
      ledger.reserve(view.now, std::max(finish, view.now + Duration{1}), job.share);
    }
    return ledger;
  }

  // The jobs whose reservation begins now.
  [[nodiscard]] std::vector<JobId> due_to_start(PoolId pool, const View& view) const {
    std::vector<JobId> due;
    int free = view.capacity[pool.value] - gpus_used(pool);
    if (free <= 0 || lines_.line(pool).empty()) {
      return due;
    }
    Ledger ledger = ledger_of(pool, view);
    int looked_at = 0;
    for (const auto& [arrival, id] : lines_.line(pool)) {
      if (free <= 0 || ++looked_at > options_.depth) {
        break;
      }
      const JobState& job = view.jobs.at(id);
      const Gang& where = gang(id);
      const Duration span = start_pause(job, where.workers, view) + run_time_left(job, where, view);
      const Instant from = ledger.earliest_fit(view.now, span, where.workers);
      if (from == kNever) {
        continue;  // Waits for machines that are down.
      }
      ledger.reserve(from, later(from, span), where.workers);
      if (from == view.now) {
        due.push_back(id);
        free -= where.workers;
      }
    }
    return due;
  }

  BackfillOptions options_;
  ArrivalLines lines_;
  std::vector<std::set<JobId>> running_;  // Per pool.
};

}  // namespace

std::unique_ptr<Policy> make_backfill(BackfillOptions options) {
  return std::make_unique<Backfill>(options);
}

Result<std::unique_ptr<Policy>> make_backfill(const PolicyOptions& options) {
  static constexpr std::array<std::string_view, 1> kKeys = {"depth"};
  if (Status status = options.only(kKeys); !status) {
    return status.error();
  }
  const auto depth = options.number("depth", BackfillOptions{}.depth, 1, 1e6);
  if (!depth) {
    return depth.error();
  }
  return make_backfill(BackfillOptions{.depth = static_cast<int>(*depth)});
}

PolicyInfo backfill_policy() {
  return {.name = "backfill",
          .paper = "Mu'alem and Feitelson, TPDS 2001",
          .fidelity = "conservative variant; reservations made anew at each round",
          .objective = "order of arrival without idle gaps",
          .needs = "requested GPUs, run time",
          .use_when = "batch clusters without elastic jobs",
          .options = "depth=10000 (jobs in line)",
          .make = make_backfill};
}

}  // namespace rubato
