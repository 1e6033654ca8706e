#include "rubato/policy/baseline/backfill.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rubato/core/ledger.h"
#include "rubato/policy/rounds/gang_policy.h"

namespace rubato::policy::baseline {
namespace {

using rounds::Gang;

// Time without progress that a start will cost.
Duration launch_pause(const JobState& job, int workers, const View& view) {
  switch (view.costs.accounting()) {
    case ResizeCostModel::None:
      return Duration{};
    case ResizeCostModel::Artifact:
      return view.costs.artifact(workers, /*known_set=*/false, /*restarts=*/false);
    case ResizeCostModel::Physical:
      return view.costs.physical(job.job, {.from = 0, .to = workers});
  }
  return Duration{};
}

class Backfill final : public rounds::GangPolicy {
 public:
  explicit Backfill(BackfillOptions options) : options_(options) {}

 protected:
  void joins(const JobState& job, const View& /*view*/) override {
    if (is_running(job.id())) {
      running_.insert(job.id());
    } else {
      wait(job);
    }
  }
  void loses_workers(const JobState& job, const View& /*view*/) override {
    running_.erase(job.id());
    wait(job);
  }
  void leaves(JobId job, Outcome /*outcome*/) override {
    running_.erase(job);
    if (const auto found = arrivals_.find(job); found != arrivals_.end()) {
      line_.erase({found->second, job});
      arrivals_.erase(found);
    }
  }
  void hold_round(const View& view, Decision& decision) override {
    for (const auto& [job, where] : due_to_start(view)) {
      line_.erase({arrivals_.at(job), job});
      arrivals_.erase(job);
      running_.insert(job);
      start(job, where, decision);
    }
  }
  void clear() override {
    line_.clear();
    arrivals_.clear();
    running_.clear();
  }

 private:
  void wait(const JobState& job) {
    line_.emplace(job.job.arrival, job.id());
    arrivals_[job.id()] = job.job.arrival;
  }

  // GPUs of each pool over time beside the running jobs.
  [[nodiscard]] std::vector<Ledger> ledgers(const View& view) const {
    std::vector<Ledger> ledgers;
    for (const int gpus : view.capacity) {
      ledgers.emplace_back(gpus);
    }
    for (const JobId id : running_) {
      const JobState& job = view.jobs.at(id);
      const Instant finish = job.progress.finish(job.job.work);
      // One that should be over by now still holds its GPUs, for an instant more at least.
      ledgers[gang(id).pool.value].reserve(view.now, std::max(finish, view.now + Duration{1}),
                                           job.share);
    }
    return ledgers;
  }

  // GPUs that no running job has, per pool.
  [[nodiscard]] std::vector<int> idle_gpus(const View& view) const {
    std::vector<int> idle(view.capacity.begin(), view.capacity.end());
    for (std::size_t pool = 0; pool < idle.size(); ++pool) {
      idle[pool] -= gpus_used(PoolId{pool});
    }
    return idle;
  }

  /// When and where a job would start, and for how long it would hold its GPUs.
  struct Stretch {
    Instant from = kNever;
    Duration span{};
    Gang where{};
  };

  // The earliest among the job's choices; the better choice on a tie.
  [[nodiscard]] Stretch earliest(const JobState& job, const std::vector<Ledger>& ledgers,
                                 const View& view) const {
    Stretch best;
    for (const Gang& where : choices(job.id())) {
      const Duration span =
          launch_pause(job, where.workers, view) + rounds::run_time_left(job, where, view);
      const Instant from = ledgers[where.pool.value].earliest_fit(view.now, span, where.workers);
      if (from < best.from) {
        best = {.from = from, .span = span, .where = where};
      }
    }
    return best;
  }

  // The jobs whose reservation begins now.
  [[nodiscard]] std::vector<std::pair<JobId, Gang>> due_to_start(const View& view) const {
    std::vector<std::pair<JobId, Gang>> due;
    std::vector<int> idle = idle_gpus(view);
    const auto is_full = [&] {
      return std::ranges::all_of(idle, [](int gpus) { return gpus <= 0; });
    };
    if (line_.empty() || is_full()) {
      return due;
    }
    std::vector<Ledger> booked = ledgers(view);
    int looked_at = 0;
    for (const auto& [arrival, id] : line_) {
      if (is_full() || ++looked_at > options_.depth) {
        break;
      }
      const auto [from, span, where] = earliest(view.jobs.at(id), booked, view);
      if (from == kNever) {
        continue;  // Waits for machines that are down.
      }
      booked[where.pool.value].reserve(from, later(from, span), where.workers);
      if (from == view.now) {
        due.emplace_back(id, where);
        idle[where.pool.value] -= where.workers;
      }
    }
    return due;
  }

  BackfillOptions options_;
  std::set<std::pair<Instant, JobId>> line_;     // Who waits, by (arrival, id).
  std::unordered_map<JobId, Instant> arrivals_;  // Of those in line.
  std::set<JobId> running_;
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

}  // namespace rubato::policy::baseline
