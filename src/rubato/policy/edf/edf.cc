#include "rubato/policy/edf/edf.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rubato/policy/edf/urgency.h"
#include "rubato/policy/rounds/gang.h"
#include "rubato/policy/rounds/round_timer.h"
#include "rubato/policy/saved_state.h"

namespace rubato::policy::edf {
namespace {

// The fastest choice of the job within the free GPUs of any pool; no workers if nothing fits.
Target fastest(const JobState& job, const std::vector<int>& free, const View& view) {
  Target best{.job = job.id(), .pool = job.pool()};
  double best_speed = 0;
  const auto consider = [&](PoolId pool) {
    const ScalingPoint point = view.curve(job, pool).best_within(free[pool.value]);
    if (point.speed > best_speed) {
      best_speed = point.speed;
      best.pool = pool;
      best.workers = point.workers;
    }
  };
  if (job.share > 0) {
    consider(job.pool());  // First, so that it stays on a tie.
  }
  for (const Pool& pool : view.topology.pools()) {
    consider(pool.id);
  }
  return best;
}

/// Its state is the last round; the order of the jobs is a cache, read anew from the first view.
class Edf final : public Policy {
 public:
  [[nodiscard]] Traits traits() const override {
    return Traits{.resizes = true, .promises = false, .artifact_charge = ArtifactCharge::Free};
  }

  [[nodiscard]] Decision on(const Event& event, const View& view) override {
    if (is_stale_) {
      rebuild(view);
    }
    Decision decision;
    if (const auto* arrival = std::get_if<Arrival>(&event)) {
      decision.verdicts.push_back(judge(view.jobs.at(arrival->job.id), view));
    } else if (const auto* completion = std::get_if<Completion>(&event)) {
      remove(completion->job);
    } else if (std::holds_alternative<Tick>(event)) {
      timer_.held(view.now);
      hold_round(view, decision);
      return decision;
    }
    decision.wake_at = order_.empty() ? kNever : timer_.next(view.now, view.slot);
    return decision;
  }

  [[nodiscard]] std::string save() const override {
    std::string state;
    append_line(state, "round", {timer_.last().time_since_epoch().count()});
    return state;
  }

  [[nodiscard]] Status load(std::string_view state) override {
    const auto lines = read_lines(state);
    if (!lines) {
      return lines.error();
    }
    is_stale_ = true;
    timer_ = rounds::RoundTimer{};
    for (const SavedLine& line : *lines) {
      if (line.word != "round" || line.numbers.size() != 1) {
        return unexpected(line);
      }
      timer_.held(Instant{Duration{line.numbers.front()}});
    }
    return ok_status();
  }

 private:
  void rebuild(const View& view) {
    order_.clear();
    places_.clear();
    running_.clear();
    view.jobs.for_each([&](const JobState& job) {
      if (job.admitted) {
        add(job);
        if (job.share > 0) {
          running_.insert(job.id());
        }
      }
    });
    is_stale_ = false;
  }

  void add(const JobState& job) {
    const Urgency urgency = urgency_of(job);
    order_.insert(urgency);
    places_[job.id()] = urgency;
  }

  void remove(JobId job) {
    const auto found = places_.find(job);
    if (found != places_.end()) {
      order_.erase(found->second);
      places_.erase(found);
      running_.erase(job);
    }
  }

  Verdict judge(const JobState& job, const View& view) {
    const Reason reason = rounds::why_unrunnable(job, view);
    if (reason != Reason::None) {
      return Verdict{.job = job.id(), .kind = VerdictKind::Refuse, .reason = reason};
    }
    add(job);
    return Verdict{.job = job.id(), .kind = VerdictKind::Admit};
  }

  void hold_round(const View& view, Decision& decision) {
    decision.is_round = true;
    std::vector<int> free(view.capacity.begin(), view.capacity.end());
    std::set<JobId> chosen;
    for (const Urgency& urgency : order_) {
      if (std::ranges::all_of(free, [](int gpus) { return gpus <= 0; })) {
        break;
      }
      const JobState& job = view.jobs.at(std::get<JobId>(urgency));
      const Target target = fastest(job, free, view);
      if (target.workers == 0) {
        continue;
      }
      free[target.pool.value] -= target.workers;
      chosen.insert(job.id());
      if (target.workers != job.share || target.pool != job.pool()) {
        decision.targets.push_back(target);
      }
    }
    stop_others(chosen, view, decision);
    running_ = std::move(chosen);
  }

  void stop_others(const std::set<JobId>& chosen, const View& view, Decision& decision) const {
    for (const JobId id : running_) {
      const JobState& job = view.jobs.at(id);
      if (!chosen.contains(id) && job.share > 0) {
        decision.targets.push_back(Target{.job = id, .pool = job.pool(), .workers = 0});
      }
    }
  }

  rounds::RoundTimer timer_;
  bool is_stale_ = true;
  std::set<Urgency> order_;  // All admitted jobs.
  std::unordered_map<JobId, Urgency> places_;
  std::set<JobId> running_;  // Since the last round; faults may have stopped some.
};

}  // namespace

Result<std::unique_ptr<Policy>> make_edf(const PolicyOptions& options) {
  if (Status status = options.only({}); !status) {
    return status.error();
  }
  return std::unique_ptr<Policy>(std::make_unique<Edf>());
}

PolicyInfo edf_policy() {
  return {.name = "edf",
          .paper = "ElasticFlow, ASPLOS'23, section 6.1 (baseline)",
          .fidelity = "as the paper describes it: capped at the speed peak",
          .objective = "earliest deadline first",
          .needs = "speed curve, deadline",
          .use_when = "deadlines matter and nobody may be refused",
          .make = make_edf};
}

}  // namespace rubato::policy::edf
