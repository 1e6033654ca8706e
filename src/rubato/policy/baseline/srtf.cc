#include "rubato/policy/baseline/srtf.h"

#include <map>

#include "rubato/policy/rounds/gang_policy.h"
#include "rubato/policy/rounds/pools_fill.h"

namespace rubato::policy::baseline {
namespace {

using rounds::Rank;

// Ranks: run time left of who waits; of who runs, the finish if nothing holds it up. Both in
// microseconds, so that the second less the present is the first.
class Srtf final : public rounds::GangPolicy {
 public:
  [[nodiscard]] std::string save() const override {
    std::map<JobId, std::int64_t> finishes = loaded_;
    for (const Rank& rank : pools_.running()) {
      finishes[rank.job] = rank.value;
    }
    std::string state = rounds::GangPolicy::save();
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
    pools_.erase(job);
  }

  void hold_round(const View& view, Decision& decision) override {
    const rounds::PoolsFill::Changes changes =
        pools_.fill(view.capacity, view.now.time_since_epoch().count());
    for (const JobId job : changes.stops) {
      stop(job, decision);
      rank_anew(view.jobs.at(job), view);
    }
    for (const auto& [job, where] : changes.moves) {
      move(job, where, decision);
      rank_anew(view.jobs.at(job), view);
    }
    for (const auto& [job, where] : changes.starts) {
      start(job, where, decision);
      rank_anew(view.jobs.at(job), view);
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
    const rounds::Gang& where = gang(job.id());
    const Duration left = rounds::run_time_left(job, where, view);
    if (is_running(job.id())) {
      run(job, later(view.now, left));
    } else {
      pools_.wait(Rank{left.count(), job.job.arrival, job.id()}, choices(job.id()));
    }
  }

  void run(const JobState& job, Instant finish) {
    pools_.run(Rank{finish.time_since_epoch().count(), job.job.arrival, job.id()}, gang(job.id()),
               choices(job.id()));
  }

  rounds::PoolsFill pools_;
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

}  // namespace rubato::policy::baseline
