#include "rubato/policy/srtf.h"

#include <map>
#include <vector>

#include "rubato/policy/gang_policy.h"
#include "rubato/policy/priority_fill.h"

namespace rubato {
namespace {

// Ranks: run time left of who waits; of who runs, the finish if nothing holds it up. Both in
// microseconds, so that the second less the present is the first.
class Srtf final : public GangPolicy {
 public:
  [[nodiscard]] std::string save() const override {
    std::map<JobId, std::int64_t> finishes = loaded_;
    for (const PriorityFill& pool : pools_) {
      for (const auto& [rank, workers] : pool.running()) {
        finishes[rank.job] = rank.value;
      }
    }
    std::string state = GangPolicy::save();
    for (const auto& [job, finish] : finishes) {
      append_line(state, "finish", {static_cast<std::int64_t>(job.value), finish});
    }
    return state;
  }

 protected:
  void joins(const JobState& job, const View& view) override {
    pools_.resize(view.topology.pools().size());
    const auto loaded = loaded_.find(job.id());
    if (loaded != loaded_.end() && is_running(job.id())) {
      run(job, Instant{Duration{loaded->second}});
      loaded_.erase(loaded);
    } else {
      rank_anew(job, view);
    }
  }

  void loses_workers(const JobState& job, const View& view) override { rank_anew(job, view); }
  void measured(const JobState& job, const View& view) override { rank_anew(job, view); }

  void leaves(JobId job, Outcome /*outcome*/) override {
    loaded_.erase(job);
    if (is_member(job)) {
      pools_[gang(job).pool.value].erase(job);
    }
  }

  void hold_round(const View& view, Decision& decision) override {
    for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
      const PriorityFill::Changes changes =
          pools_[pool].fill(view.capacity[pool], view.now.time_since_epoch().count());
      for (const JobId job : changes.stops) {
        stop(job, decision);
        rank_anew(view.jobs.at(job), view);
      }
      for (const JobId job : changes.starts) {
        start(job, decision);
        rank_anew(view.jobs.at(job), view);
      }
    }
  }

  Status restore(const SavedLine& line) override {
    if (line.word != "finish" || line.numbers.size() != 2) {
      return unexpected(line);
    }
    loaded_[JobId{static_cast<std::uint64_t>(line.numbers[0])}] = line.numbers[1];
    return ok_status();
  }

  void clear() override {
    pools_.clear();
    loaded_.clear();
  }

 private:
  void rank_anew(const JobState& job, const View& view) {
    const Gang& where = gang(job.id());
    const Duration left = run_time_left(job, where, view);
    if (is_running(job.id())) {
      run(job, later(view.now, left));
    } else {
      pools_[where.pool.value].wait(Rank{left.count(), job.job.arrival, job.id()}, where.workers);
    }
  }

  void run(const JobState& job, Instant finish) {
    const Gang& where = gang(job.id());
    pools_[where.pool.value].run(Rank{finish.time_since_epoch().count(), job.job.arrival, job.id()},
                                 where.workers);
  }

  std::vector<PriorityFill> pools_;
  std::map<JobId, std::int64_t> loaded_;  // Finishes, until the cache is read anew.
};

}  // namespace

Result<std::unique_ptr<Policy>> make_srtf(const PolicyOptions& options) {
  if (Status status = options.only({}); !status) {
    return status.error();
  }
  return std::unique_ptr<Policy>(std::make_unique<Srtf>());
}

PolicyInfo srtf_policy() {
  return {.name = "srtf",
          .paper = "folklore",
          .fidelity = "exact",
          .objective = "mean completion time, run times known",
          .needs = "requested GPUs, run time",
          .use_when = "run times are known and mean completion time matters",
          .make = make_srtf};
}

}  // namespace rubato
