#include "rubato/policy/first_come/first_come.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "rubato/base/check.h"
#include "rubato/policy/rounds/gang.h"
#include "rubato/policy/rounds/round_timer.h"
#include "rubato/policy/saved_state.h"

namespace rubato::policy::first_come {
namespace {

// Its state is the last round: everything else is read from the view.
class FirstComePolicy final : public Policy {
 public:
  explicit FirstComePolicy(FirstComeOptions options) : options_(options) {}

  [[nodiscard]] Traits traits() const override {
    return {.resizes = true, .artifact_charge = ArtifactCharge::EveryRound};
  }

  [[nodiscard]] Decision on(const Event& event, const View& view) override {
    Decision decision;
    if (std::holds_alternative<Tick>(event)) {
      timer_.held(view.now);
      decision.is_round = true;
      decision.targets = shares(view);
      return decision;
    }
    if (const auto* arrival = std::get_if<Arrival>(&event)) {
      decision.verdicts.push_back(judge(view.jobs.at(arrival->job.id), view));
    }
    decision.wake_at = timer_.next(view.now, view.slot);
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
  // Whoever can run somewhere is admitted.
  [[nodiscard]] static Verdict judge(const JobState& job, const View& view) {
    const Reason reason = rounds::why_unrunnable(job, view);
    const VerdictKind kind = reason == Reason::None ? VerdictKind::Admit : VerdictKind::Refuse;
    return Verdict{.job = job.id(), .kind = kind, .reason = reason};
  }

  [[nodiscard]] static std::vector<const JobState*> in_order_of_arrival(const View& view) {
    std::vector<const JobState*> line;
    view.jobs.for_each([&](const JobState& job) {
      if (job.admitted) {
        line.push_back(&job);
      }
    });
    const auto arrival = [](const JobState* job) { return std::pair(job->job.arrival, job->id()); };
    std::ranges::sort(line, {}, arrival);
    return line;
  }

  // The fewest workers for everyone who fits, taken from `free`; none for the others.
  [[nodiscard]] static std::vector<Target> start_all(const View& view, std::vector<int>& free) {
    std::vector<Target> targets;
    for (const JobState* job : in_order_of_arrival(view)) {
      const auto gang = rounds::gang_of(*job, view);
      RUBATO_CHECK(gang.has_value());
      int& left = free[gang->pool.value];
      const int fewest = view.curve(*job, gang->pool).smallest().workers;
      const int workers = fewest <= left ? fewest : 0;
      left -= workers;
      targets.push_back(Target{.job = job->id(), .pool = gang->pool, .workers = workers});
    }
    return targets;
  }

  // Sorting is the dearest part: n log n in jobs.
  [[nodiscard]] std::vector<Target> shares(const View& view) const {
    std::vector<int> free(view.capacity.begin(), view.capacity.end());
    std::vector<Target> targets = start_all(view, free);
    for (Target& target : targets) {
      if (target.workers == 0) {
        continue;
      }
      int& left = free[target.pool.value];
      const int most = std::min(target.workers + left, options_.workers_max);
      const ScalingCurve& curve = view.curve(view.jobs.at(target.job), target.pool);
      const int more = std::max(0, curve.best_within(most).workers - target.workers);
      target.workers += more;
      left -= more;
    }
    return targets;
  }

  FirstComeOptions options_;
  rounds::RoundTimer timer_;
};

Result<std::unique_ptr<Policy>> make_first_come(const PolicyOptions& options) {
  constexpr double kWorkersMax = 1e6;
  constexpr std::array<std::string_view, 1> kKnown = {"workers_max"};
  if (Status status = options.only(kKnown); !status) {
    return status.error();
  }
  FirstComeOptions parsed;
  const auto most = options.number("workers_max", parsed.workers_max, 1, kWorkersMax);
  if (!most) {
    return most.error();
  }
  parsed.workers_max = static_cast<int>(*most);
  return std::unique_ptr<Policy>(std::make_unique<FirstComePolicy>(parsed));
}

}  // namespace

PolicyInfo first_come_policy() {
  return {.name = "first-come",
          .paper = "unpublished",
          .fidelity = "exact",
          .objective = "order of arrival, nobody waits who could run",
          .needs = "speed curve",
          .use_when = "as a starting point for a scheduler of your own",
          .options = "workers_max=1024 (most workers of one job)",
          .make = make_first_come};
}

}  // namespace rubato::policy::first_come
