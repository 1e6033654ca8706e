#include "rubato/policy/shockwave/shockwave.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "rubato/policy/rounds/fixed_rounds.h"
#include "rubato/policy/shockwave/pace_record.h"
#include "rubato/policy/shockwave/window_plan.h"

namespace rubato::policy::shockwave {
namespace {

using rounds::FixedRounds;
using rounds::Gang;

constexpr double kWeightMax = 1e6;

// A program near its optimum is as good: the next plan is made when the next job comes or goes.
constexpr SolveLimits kLimits{.nodes_max = 50, .iterations_max = 20'000, .gap = 1e-3};

/// A running average of fair finishes, in seconds from arrival.
struct FairTarget {
  double sum = 0;   // Estimates times the seconds they stood.
  double time = 0;  // Seconds in all.
  double last = 0;
  Instant since = kNever;

  void add(double estimate, Instant now) {
    if (since != kNever) {
      sum += last * to_seconds(now - since);
      time += to_seconds(now - since);
    }
    last = estimate;
    since = now;
  }
  [[nodiscard]] double value() const { return 0.9 * (time > 0 ? sum / time : last) + 0.1 * last; }
};

class Shockwave final : public FixedRounds {
 public:
  explicit Shockwave(ShockwaveOptions options) : FixedRounds(options.round), options_(options) {}

  [[nodiscard]] std::string save() const override;

 protected:
  void joins(const JobState& job, const View& /*view*/) override {
    standings_[job.id()];
    is_stale_ = true;
  }
  void leaves(JobId job) override {
    standings_.erase(job);
    is_stale_ = true;
  }
  void measured(const JobState& job, const View& view) override {
    standings_.at(job.id()).pace.report(job, view.now);
  }
  [[nodiscard]] std::vector<Target> hold_round(const View& view) override;
  [[nodiscard]] Status restore(const SavedLine& line) override;
  void clear() override {
    standings_.clear();
    is_stale_ = true;
    round_ = 0;
    planned_gpus_ = 0;
  }

 private:
  struct Standing {
    FairTarget fair{};
    PaceRecord pace{};
    std::uint64_t rounds = 0;  // Of the present plan; bit r: runs in round r.
  };
  /// A job while its pool is planned, times in seconds.
  struct Candidate {
    const JobState* job = nullptr;
    Gang gang{};
    double left = 0;
    double elapsed = 0;
    double ratio = 0;  // Expected over fair finish.
  };

  [[nodiscard]] double seconds_left(const JobState& job, const Gang& gang, const View& view) const;
  void plan(PoolId pool, const View& view);
  [[nodiscard]] std::vector<Candidate> candidates_of(PoolId pool, double share, const View& view);
  [[nodiscard]] std::optional<std::vector<WindowJob>> in_time(
      const std::vector<Candidate>& candidates, double share, const Window& window) const;
  [[nodiscard]] std::vector<WindowJob> best_effort(const std::vector<Candidate>& candidates) const;
  void fill_idle(std::vector<int>& free, const View& view, std::vector<Target>& targets) const;

  ShockwaveOptions options_;
  std::map<JobId, Standing> standings_;
  bool is_stale_ = true;  // Jobs came or went since the last plan.
  int round_ = 0;         // Of the plan; the next to run.
  int planned_gpus_ = 0;
};

double Shockwave::seconds_left(const JobState& job, const Gang& gang, const View& view) const {
  return standings_.at(job.id()).pace.seconds_left(
      job, view.curve(job, gang.pool).speed(gang.workers), view.now);
}

// The jobs whose own pool this is and which fit in it, the latest first; their fair finishes are
// brought up to date.
std::vector<Shockwave::Candidate> Shockwave::candidates_of(PoolId pool, double share,
                                                           const View& view) {
  std::vector<Candidate> candidates;
  for (auto& [id, standing] : standings_) {
    const JobState& job = view.jobs.at(id);
    const Gang gang = *rounds::gang_of(job, view);
    if (gang.pool != pool || gang.workers > view.capacity[pool.value]) {
      continue;
    }
    Candidate candidate{.job = &job,
                        .gang = gang,
                        .left = seconds_left(job, gang, view),
                        .elapsed = to_seconds(view.now - job.job.arrival)};
    const double ran = to_seconds(job.usage.executed_at(view.now, job.share));
    standing.fair.add((ran + candidate.left) / share, view.now);
    candidate.ratio =
        (candidate.elapsed + candidate.left / share) / std::max(1e-6, standing.fair.value());
    candidates.push_back(candidate);
  }
  std::ranges::sort(candidates, {}, [](const Candidate& candidate) {
    return std::tuple(-candidate.ratio, candidate.job->job.arrival, candidate.job->id());
  });
  candidates.resize(std::min(candidates.size(), static_cast<std::size_t>(options_.jobs_max)));
  return candidates;
}

WindowJob window_job(const JobState& job, int gpus, double seconds_left, Instant now) {
  return WindowJob{.gpus = gpus,
                   .done = std::clamp(job.progress.at(now) / job.job.work, 0.0, 1.0),
                   .seconds_left = seconds_left};
}

// With as many rounds as each needs to be in time; nothing if one cannot be even if it always runs.
std::optional<std::vector<WindowJob>> Shockwave::in_time(const std::vector<Candidate>& candidates,
                                                         double share, const Window& window) const {
  std::vector<WindowJob> jobs;
  const double span = window.rounds * window.round_seconds;
  for (const Candidate& candidate : candidates) {
    const FairTarget& fair = standings_.at(candidate.job->id()).fair;
    const double latest = options_.rho_max * fair.value();
    if (candidate.elapsed + candidate.left > latest) {
      return std::nullopt;
    }
    const double after_window = share * std::max(0.0, latest - candidate.elapsed - span);
    const double needed = std::ceil((candidate.left - after_window) / window.round_seconds);
    jobs.push_back(window_job(*candidate.job, candidate.gang.workers, candidate.left, fair.since));
    jobs.back().rounds_min =
        static_cast<int>(std::clamp(needed, 0.0, static_cast<double>(window.rounds)));
  }
  return jobs;
}

// Without a bound, the late with more weight.
std::vector<WindowJob> Shockwave::best_effort(const std::vector<Candidate>& candidates) const {
  std::vector<WindowJob> jobs;
  for (const Candidate& candidate : candidates) {
    jobs.push_back(window_job(*candidate.job, candidate.gang.workers, candidate.left,
                              standings_.at(candidate.job->id()).fair.since));
    jobs.back().weight =
        std::min(kWeightMax, std::pow(std::max(1.0, candidate.ratio), options_.lambda));
  }
  return jobs;
}

void Shockwave::plan(PoolId pool, const View& view) {
  double asked = 0;
  for (const auto& [id, standing] : standings_) {
    const Gang gang = *rounds::gang_of(view.jobs.at(id), view);
    asked += gang.pool == pool ? gang.workers : 0;
  }
  const int gpus = view.capacity[pool.value];
  if (asked == 0 || gpus == 0) {
    return;
  }
  const double share = std::min(1.0, gpus / asked);
  const Window window{.rounds = options_.rounds,
                      .round_seconds = to_seconds(round(view)),
                      .gpus = gpus,
                      .k = options_.k};
  const std::vector<Candidate> candidates = candidates_of(pool, share, view);
  const std::optional<std::vector<WindowJob>> jobs = in_time(candidates, share, window);
  std::optional<std::vector<std::uint64_t>> rows =
      jobs ? best_rows(*jobs, window, kLimits) : std::nullopt;
  if (!rows) {
    rows = best_rows(best_effort(candidates), window, kLimits);
  }
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    standings_.at(candidates[i].job->id()).rounds = (*rows)[i];
  }
}

// The most time left first, each in its own pool or else the first that has room.
void Shockwave::fill_idle(std::vector<int>& free, const View& view,
                          std::vector<Target>& targets) const {
  if (std::ranges::all_of(free, [](int gpus) { return gpus <= 0; })) {
    return;
  }
  std::vector<JobId> chosen;
  chosen.reserve(targets.size());
  for (const Target& target : targets) {
    chosen.push_back(target.job);
  }
  std::ranges::sort(chosen);
  std::vector<std::tuple<double, JobId>> longest_first;
  for (const auto& [id, standing] : standings_) {
    if (!std::ranges::binary_search(chosen, id)) {
      const JobState& job = view.jobs.at(id);
      longest_first.emplace_back(-seconds_left(job, *rounds::gang_of(job, view), view), id);
    }
  }
  std::ranges::sort(longest_first);
  for (const auto& [time, id] : longest_first) {
    for (const Gang& gang : rounds::gangs_of(view.jobs.at(id), view)) {
      if (gang.workers <= free[gang.pool.value]) {
        free[gang.pool.value] -= gang.workers;
        targets.push_back(Target{.job = id, .pool = gang.pool, .workers = gang.workers});
        break;
      }
    }
  }
}

std::vector<Target> Shockwave::hold_round(const View& view) {
  if (is_stale_ || round_ >= options_.rounds || planned_gpus_ != view.gpus_up()) {
    for (auto& [id, standing] : standings_) {
      standing.rounds = 0;
    }
    for (const Pool& pool : view.topology.pools()) {
      plan(pool.id, view);
    }
    is_stale_ = false;
    round_ = 0;
    planned_gpus_ = view.gpus_up();
  }
  std::vector<int> free(view.capacity.begin(), view.capacity.end());
  std::vector<Target> targets;
  for (const auto& [id, standing] : standings_) {
    const Gang gang = *rounds::gang_of(view.jobs.at(id), view);
    int& left = free[gang.pool.value];
    if ((standing.rounds >> static_cast<unsigned>(round_) & 1U) != 0 && gang.workers <= left) {
      left -= gang.workers;
      targets.push_back(Target{.job = id, .pool = gang.pool, .workers = gang.workers});
    }
  }
  fill_idle(free, view, targets);
  ++round_;
  return targets;
}

std::string Shockwave::save() const {
  std::string state = FixedRounds::save();
  append_line(state, "plan", {is_stale_ ? 1 : 0, round_, planned_gpus_});
  for (const auto& [id, standing] : standings_) {
    const auto job = static_cast<std::int64_t>(id.value);
    const PaceRecord::State pace = standing.pace.state();
    append_line(state, "job",
                {job, std::bit_cast<std::int64_t>(standing.fair.sum),
                 std::bit_cast<std::int64_t>(standing.fair.time),
                 std::bit_cast<std::int64_t>(standing.fair.last),
                 standing.fair.since.time_since_epoch().count(),
                 std::bit_cast<std::int64_t>(standing.rounds), pace.pace,
                 std::bit_cast<std::int64_t>(pace.counted)});
    for (const auto& [factor, steps] : pace.steps) {
      append_line(state, "pace", {job, factor, std::bit_cast<std::int64_t>(steps)});
    }
  }
  return state;
}

Status Shockwave::restore(const SavedLine& line) {
  const std::vector<std::int64_t>& numbers = line.numbers;
  if (line.word == "plan" && numbers.size() == 3) {
    is_stale_ = numbers[0] != 0;
    round_ = static_cast<int>(numbers[1]);
    planned_gpus_ = static_cast<int>(numbers[2]);
  } else if (line.word == "job" && numbers.size() == 8) {
    Standing& standing = standings_[JobId{static_cast<std::uint64_t>(numbers[0])}];
    standing.fair = {.sum = std::bit_cast<double>(numbers[1]),
                     .time = std::bit_cast<double>(numbers[2]),
                     .last = std::bit_cast<double>(numbers[3]),
                     .since = Instant{Duration{numbers[4]}}};
    standing.rounds = std::bit_cast<std::uint64_t>(numbers[5]);
    standing.pace.restore(
        {.pace = static_cast<int>(numbers[6]), .counted = std::bit_cast<double>(numbers[7])});
  } else if (line.word == "pace" && numbers.size() == 3) {
    PaceRecord& pace = standings_[JobId{static_cast<std::uint64_t>(numbers[0])}].pace;
    PaceRecord::State state = pace.state();
    state.steps[static_cast<int>(numbers[1])] = std::bit_cast<double>(numbers[2]);
    pace.restore(std::move(state));
  } else {
    return unexpected(line);
  }
  return ok_status();
}

}  // namespace

std::unique_ptr<Policy> make_shockwave(ShockwaveOptions options) {
  return std::make_unique<Shockwave>(options);
}

Result<std::unique_ptr<Policy>> make_shockwave(const PolicyOptions& options) {
  static constexpr std::array<std::string_view, 6> kKeys = {"round",  "rounds",  "k",
                                                            "lambda", "rho_max", "jobs_max"};
  if (Status status = options.only(kKeys); !status) {
    return status.error();
  }
  ShockwaveOptions chosen;
  const auto round = options.number("round", to_seconds(chosen.round), 1, 1e6);
  const auto rounds = options.number("rounds", chosen.rounds, 1, Window::kRoundsMax);
  const auto k = options.number("k", chosen.k, 0, 1e9);
  const auto lambda = options.number("lambda", chosen.lambda, 0, 100);
  const auto rho_max = options.number("rho_max", chosen.rho_max, 0.1, 100);
  const auto jobs_max = options.number("jobs_max", chosen.jobs_max, 1, 10'000);
  for (const auto* number : {&round, &rounds, &k, &lambda, &rho_max, &jobs_max}) {
    if (!*number) {
      return number->error();
    }
  }
  chosen.round = from_seconds(*round);
  chosen.rounds = static_cast<int>(*rounds);
  chosen.k = *k;
  chosen.lambda = *lambda;
  chosen.rho_max = *rho_max;
  chosen.jobs_max = static_cast<int>(*jobs_max);
  return make_shockwave(chosen);
}

PolicyInfo shockwave_policy() {
  return {
      .name = "shockwave",
      .paper = "Shockwave, NSDI'23",
      .fidelity = "after Shockwave and its published code; large programs over counts of rounds",
      .objective = "progress for all, finish-time fairness and makespan",
      .needs = "requested GPUs, run time",
      .use_when = "fairness and makespan both matter and jobs change their pace",
      .options = "round=120 (s), rounds=20, k=0.001, lambda=5, rho_max=1.1, jobs_max=100",
      .make = make_shockwave};
}

}  // namespace rubato::policy::shockwave
