#include "rubato/policy/autoscale/autoscale.h"

#include <algorithm>
#include <array>
#include <map>

#include "rubato/policy/rounds/home_pool.h"
#include "rubato/policy/rounds/round_policy.h"

namespace rubato::policy::autoscale {
namespace {

using rounds::Seat;

/// What is remembered of a job. Speeds are looked up, so that they are always the latest.
struct Memory {
  PoolId pool{};
  int wanted = 0;                 // Workers it last decided on; zero before its first start.
  bool rests = false;             // It has settled and need not be asked.
  double counted = 0;             // Steps done up to which `steps` are counted.
  double decided = 0;             // Steps done when it last decided or changed.
  std::map<int, double> steps{};  // Done at each count visited.
};

// The counts a job may try in its pool.
std::vector<int> ladder_of(const JobState& job, const View& view, PoolId pool, int spawn) {
  const auto points = view.curve(job, pool).points();
  std::vector<int> ladder;
  for (const ScalingPoint& point : points) {
    if (point.workers % spawn == 0) {
      ladder.push_back(point.workers);
    }
  }
  if (ladder.empty()) {
    for (const ScalingPoint& point : points) {
      ladder.push_back(point.workers);
    }
  }
  return ladder;
}

// The highest rung within `workers`; zero if there is none.
int rung_within(const std::vector<int>& ladder, int workers) {
  const auto found = std::ranges::upper_bound(ladder, workers);
  return found == ladder.begin() ? 0 : *(found - 1);
}

class Autoscale final : public rounds::RoundPolicy {
 public:
  explicit Autoscale(const AutoscaleOptions& options) : options_(options) {}

 protected:
  void hold_round(const View& view, std::span<Seat> seats) override {
    rounds::choose_home_pools(view, seats);
    std::vector<int> free(view.capacity.begin(), view.capacity.end());
    std::vector<bool> someone_waits(free.size(), false);
    for (Seat& seat : seats) {
      if (seat.job->share > 0) {
        Memory& memory = count_steps(*seat.job, view);
        decide(*seat.job, view, memory);
        seat.workers = std::min(memory.wanted, seat.job->share);
        free[seat.pool.value] -= seat.workers;
      }
    }
    for (Seat& seat : seats) {
      if (seat.job->share == 0 && !someone_waits[seat.pool.value]) {
        seat.workers = start(*seat.job, view, seat.pool, free[seat.pool.value]);
        free[seat.pool.value] -= seat.workers;
        someone_waits[seat.pool.value] = seat.workers == 0;
      }
    }
    grow(seats, free, someone_waits);
    next_ = next_decision(view, seats);
  }

  void leaves(JobId job) override { memories_.erase(job); }

  [[nodiscard]] Instant next_change(const View& /*view*/) const override { return next_; }

  void append_state(std::string& state) const override {
    append_line(state, "next", {next_.time_since_epoch().count()});
    for (const auto& [job, memory] : memories_) {
      append_line(
          state, "job",
          {static_cast<std::int64_t>(job.value), static_cast<std::int64_t>(memory.pool.value),
           memory.wanted, memory.rests ? 1 : 0, bits_of(memory.counted), bits_of(memory.decided)});
      for (const auto& [workers, steps] : memory.steps) {
        append_line(state, "visit",
                    {static_cast<std::int64_t>(job.value), workers, bits_of(steps)});
      }
    }
  }

  Status restore(const SavedLine& line) override {
    const std::vector<std::int64_t>& numbers = line.numbers;
    if (line.word == "next" && numbers.size() == 1) {
      next_ = Instant{Duration{numbers[0]}};
    } else if (line.word == "job" && numbers.size() == 6) {
      memories_[JobId{static_cast<std::uint64_t>(numbers[0])}] =
          Memory{.pool = PoolId{static_cast<std::uint64_t>(numbers[1])},
                 .wanted = static_cast<int>(numbers[2]),
                 .rests = numbers[3] != 0,
                 .counted = double_of(numbers[4]),
                 .decided = double_of(numbers[5])};
    } else if (line.word == "visit" && numbers.size() == 3) {
      memories_[JobId{static_cast<std::uint64_t>(numbers[0])}].steps[static_cast<int>(numbers[1])] =
          double_of(numbers[2]);
    } else {
      return unexpected(line);
    }
    return ok_status();
  }

  void clear() override {
    memories_.clear();
    next_ = kNever;
  }

 private:
  // Books what the job did since the last round under the count it had.
  Memory& count_steps(const JobState& job, const View& view) {
    const double done = job.progress.at(view.now);
    const Memory fresh{.pool = job.pool(), .wanted = job.share, .counted = done, .decided = done};
    Memory& memory = memories_.try_emplace(job.id(), fresh).first->second;
    memory.steps[job.share] += std::max(0.0, done - memory.counted);
    memory.counted = done;
    // After a fault it may have less done than when it decided.
    memory.decided = std::min(memory.decided, done);
    return memory;
  }

  [[nodiscard]] std::vector<Visit> visits_of(const JobState& job, const View& view,
                                             const Memory& memory) const {
    std::vector<Visit> visits;
    for (const auto& [workers, steps] : memory.steps) {
      visits.push_back(
          {.workers = workers, .speed = view.speed(job, memory.pool, workers), .steps = steps});
    }
    return visits;
  }

  [[nodiscard]] StepPays rule_for(const JobState& job, const View& view) const {
    if (!options_.by_utility) {
      return pays_by_efficiency(options_.efficiency);
    }
    return pays_by_utility({.value = job.job.value,
                            .elapsed = to_seconds(view.now - job.job.arrival),
                            .steps_left = job.work_left(view.now),
                            .price = options_.price});
  }

  // Sets what the job wants, if it is time to decide.
  void decide(const JobState& job, const View& view, Memory& memory) const {
    const bool is_due = memory.counted >= due_at(memory);
    // Who wants more than it has is served as soon as there is room.
    if (memory.rests || !is_due || memory.wanted > job.share) {
      return;
    }
    memory.decided = memory.counted;
    const std::vector<int> ladder = ladder_of(job, view, memory.pool, options_.spawn);
    memory.wanted =
        next_count(visits_of(job, view, memory), ladder, rule_for(job, view), options_.search);
    const bool is_known = memory.steps[memory.wanted] >= options_.search.steps_min;
    memory.rests = !options_.by_utility && memory.wanted == job.share && is_known;
  }

  // Steps done at which the job decides next.
  [[nodiscard]] double due_at(const Memory& memory) const {
    // Progress is rounded to microseconds: a hair less than asked is enough.
    return memory.decided + options_.every * (1 - 1e-6);
  }

  // Workers to start on; zero if there is no room.
  int start(const JobState& job, const View& view, PoolId pool, int free) {
    const std::vector<int> ladder = ladder_of(job, view, pool, options_.spawn);
    if (ladder.empty()) {
      return 0;
    }
    Memory& memory = memories_[job.id()];
    if (memory.wanted == 0 || memory.pool != pool) {
      const int asked = rung_within(ladder, job.job.requested);
      memory = Memory{.pool = pool, .wanted = std::max(asked, ladder.front())};
    }
    memory.decided = job.progress.at(view.now);
    return rung_within(ladder, std::min(memory.wanted, free));
  }

  // In order of arrival, as far as there is room and nobody waits for it.
  void grow(std::span<Seat> seats, std::vector<int>& free, const std::vector<bool>& someone_waits) {
    for (Seat& seat : seats) {
      const auto memory = memories_.find(seat.job->id());
      if (seat.job->share == 0 || memory == memories_.end() || someone_waits[seat.pool.value]) {
        continue;
      }
      const int more = memory->second.wanted - seat.workers;
      if (more > 0 && more <= free[seat.pool.value]) {
        free[seat.pool.value] -= more;
        seat.workers += more;
        memory->second.decided = memory->second.counted;
      }
    }
  }

  // When the first running job that does not rest has done the steps to its next decision.
  [[nodiscard]] Instant next_decision(const View& view, std::span<const Seat> seats) const {
    Instant next = kNever;
    for (const Seat& seat : seats) {
      if (seat.workers == 0) {
        continue;
      }
      const Memory& memory = memories_.at(seat.job->id());
      if (memory.rests || memory.wanted > seat.workers) {
        continue;
      }
      const double left = std::max(0.0, memory.decided + options_.every - memory.counted);
      const double speed = view.speed(*seat.job, seat.pool, seat.workers);
      const Instant due = seat.workers == seat.job->share
                              ? seat.job->progress.finish(memory.decided + options_.every)
                              : later(view.now, from_seconds_up(left / speed));
      next = std::min(next, std::max(due, view.now));
    }
    return next;
  }

  AutoscaleOptions options_;
  std::map<JobId, Memory> memories_;
  Instant next_ = kNever;  // The first decision after the last round.
};

// The first of these that is an error; null if none is.
const Error* first_error(std::span<const Result<double>* const> numbers) {
  for (const Result<double>* number : numbers) {
    if (!number->ok()) {
      return &number->error();
    }
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<Policy> make_autoscale(const AutoscaleOptions& options) {
  return std::make_unique<Autoscale>(options);
}

Result<std::unique_ptr<Policy>> make_autoscale(const PolicyOptions& options) {
  static constexpr std::array<std::string_view, 6> kKeys = {"metric", "efficiency", "price",
                                                            "spawn",  "every",      "measured"};
  static constexpr std::array<std::string_view, 2> kMetrics = {"efficiency", "utility"};
  if (Status status = options.only(kKeys); !status) {
    return status.error();
  }
  AutoscaleOptions chosen;
  const auto metric = options.word("metric", "efficiency", kMetrics);
  if (!metric) {
    return metric.error();
  }
  const auto efficiency = options.number("efficiency", chosen.efficiency, 0, 1e6);
  const auto price = options.number("price", chosen.price, 0, 1e12);
  const auto spawn = options.number("spawn", chosen.spawn, 1, 1 << 20);
  const auto every = options.number("every", chosen.every, 1, 1e12);
  const auto measured = options.number("measured", chosen.search.steps_min, 0, 1e12);
  const std::array<const Result<double>*, 5> all = {&efficiency, &price, &spawn, &every, &measured};
  if (const Error* error = first_error(all)) {
    return *error;
  }
  chosen.by_utility = *metric == "utility";
  chosen.efficiency = *efficiency;
  chosen.price = *price;
  chosen.spawn = static_cast<int>(*spawn);
  chosen.every = *every;
  chosen.search.steps_min = *measured;
  return make_autoscale(chosen);
}

PolicyInfo autoscale_policy() {
  return {.name = "autoscale",
          .paper = "Or, Zhang, Freedman, MLSys'20",
          .fidelity = "after Or et al.: their search for each job, first come first served",
          .objective = "workers that pay for themselves, for each job alone",
          .needs = "speed at visited counts; value for metric=utility",
          .use_when = "nothing is known before a job runs and GPUs cost money",
          .options =
              "metric=efficiency|utility, efficiency=0.1, price=0.0001 (per GPU-s), "
              "spawn=1, every=100 (steps), measured=100 (steps)",
          .make = make_autoscale};
}

}  // namespace rubato::policy::autoscale
