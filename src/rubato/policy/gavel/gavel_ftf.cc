#include "rubato/policy/gavel/gavel_ftf.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <string_view>
#include <tuple>

#include "rubato/policy/gavel/fair_finish.h"

namespace rubato::policy::gavel {
namespace {

// A job counts as having at least this part of its work left, so that speeds stay finite.
constexpr double kLeftMin = 1e-6;

Finisher finisher_of(const RoundContender& contender, double fair_so_far, const View& view) {
  const JobState& job = *contender.job;
  Finisher finisher{.speeds = std::vector<double>(view.capacity.size(), 0.0),
                    .gpus = std::vector<int>(view.capacity.size(), 0),
                    .elapsed = to_seconds(view.now - job.job.arrival),
                    .work = std::max(job.work_left(view.now), kLeftMin * job.job.work),
                    .fair_so_far = fair_so_far};
  for (std::size_t i = 0; i < contender.gangs.size(); ++i) {
    const std::size_t pool = contender.gangs[i].pool.value;
    finisher.speeds[pool] = contender.speed(i, view);
    finisher.gpus[pool] = contender.gangs[i].workers;
  }
  return finisher;
}

class GavelFtf final : public PriorityRounds {
 public:
  explicit GavelFtf(GavelFtfOptions options)
      : PriorityRounds(options.rounds), jobs_max_(static_cast<std::size_t>(options.jobs_max)) {}

  [[nodiscard]] std::string save() const override;

 protected:
  void joins(const JobState& job, const View& view) override {
    PriorityRounds::joins(job, view);
    pasts_[job.id()];
  }
  void leaves(JobId job) override {
    PriorityRounds::leaves(job);
    pasts_.erase(job);
  }
  [[nodiscard]] std::vector<std::vector<double>> fractions(
      const std::vector<RoundContender>& contenders, const View& view) override;
  [[nodiscard]] Status restore(const SavedLine& line) override;
  void clear() override {
    PriorityRounds::clear();
    pasts_.clear();
  }

 private:
  /// What a fair share would have needed for the steps done so far.
  struct Past {
    double done = 0;  // Steps.
    double seconds = 0;
  };

  [[nodiscard]] std::vector<Finisher> finishers_of(const std::vector<RoundContender>& contenders,
                                                   const View& view);

  std::size_t jobs_max_;
  std::map<JobId, Past> pasts_;
};

// Brings the past of each job up to now, at its present fair speed.
std::vector<Finisher> GavelFtf::finishers_of(const std::vector<RoundContender>& contenders,
                                             const View& view) {
  std::vector<Finisher> finishers;
  for (const RoundContender& contender : contenders) {
    Past& past = pasts_.at(contender.job->id());
    finishers.push_back(finisher_of(contender, past.seconds, view));
    const double speed = fair_speed(finishers.back(), contenders.size(), view.capacity);
    const double done = contender.job->progress.at(view.now);
    past.seconds += std::max(0.0, done - past.done) / speed;
    past.done = done;
    finishers.back().fair_so_far = past.seconds;
  }
  return finishers;
}

std::vector<std::vector<double>> GavelFtf::fractions(const std::vector<RoundContender>& contenders,
                                                     const View& view) {
  const std::vector<Finisher> all = finishers_of(contenders, view);
  std::vector<std::tuple<double, JobId, std::size_t>> worst_first;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double fair =
        all[i].fair_so_far + all[i].work / fair_speed(all[i], all.size(), view.capacity);
    worst_first.emplace_back(-all[i].elapsed / fair, contenders[i].job->id(), i);
  }
  std::ranges::sort(worst_first);
  const std::size_t count = view.capacity.size() > 1 ? std::min(all.size(), jobs_max_) : all.size();
  std::vector<Finisher> chosen;
  for (std::size_t i = 0; i < count; ++i) {
    chosen.push_back(all[std::get<2>(worst_first[i])]);
  }
  const FairFinish best = fairest_finish(chosen, view.capacity);
  std::vector<std::vector<double>> answer(all.size(),
                                          std::vector<double>(view.capacity.size(), 0.0));
  for (std::size_t i = 0; i < count; ++i) {
    answer[std::get<2>(worst_first[i])] = best.fractions[i];
  }
  return answer;
}

std::string GavelFtf::save() const {
  std::string state = PriorityRounds::save();
  for (const auto& [id, past] : pasts_) {
    append_line(state, "past",
                {static_cast<std::int64_t>(id.value), std::bit_cast<std::int64_t>(past.done),
                 std::bit_cast<std::int64_t>(past.seconds)});
  }
  return state;
}

Status GavelFtf::restore(const SavedLine& line) {
  if (line.word != "past" || line.numbers.size() != 3) {
    return PriorityRounds::restore(line);
  }
  pasts_[JobId{static_cast<std::uint64_t>(line.numbers[0])}] =
      Past{.done = std::bit_cast<double>(line.numbers[1]),
           .seconds = std::bit_cast<double>(line.numbers[2])};
  return ok_status();
}

}  // namespace

std::unique_ptr<Policy> make_gavel_ftf(GavelFtfOptions options) {
  return std::make_unique<GavelFtf>(options);
}

Result<std::unique_ptr<Policy>> make_gavel_ftf(const PolicyOptions& options) {
  static constexpr std::array<std::string_view, 3> kKeys = {"round", "half_life", "jobs_max"};
  if (Status status = options.only(kKeys); !status) {
    return status.error();
  }
  const auto rounds = priority_rounds_options(options);
  const auto jobs_max = options.number("jobs_max", GavelFtfOptions{}.jobs_max, 1, 10'000);
  if (!rounds || !jobs_max) {
    return !rounds ? rounds.error() : jobs_max.error();
  }
  return make_gavel_ftf(
      GavelFtfOptions{.rounds = *rounds, .jobs_max = static_cast<int>(*jobs_max)});
}

PolicyInfo gavel_ftf_policy() {
  return {.name = "gavel-ftf",
          .paper = "Gavel, OSDI'20, section 4.2",
          .fidelity = "the paper's optimum; received time fades; no space sharing",
          .objective = "least unfair finish times over mixed GPU types",
          .needs = "requested GPUs, speed per GPU type, run time",
          .use_when = "GPU types differ and nobody may be much later than on a share of its own",
          .options = "round=360 (s), half_life=3600 (s), jobs_max=150",
          .make = make_gavel_ftf};
}

}  // namespace rubato::policy::gavel
