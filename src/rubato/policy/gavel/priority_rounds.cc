#include "rubato/policy/gavel/priority_rounds.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <tuple>

namespace rubato::policy::gavel {
namespace {

using rounds::Gang;

// Of a job that never ran in a pool it should run in.
constexpr double kNeverServed = 1e9;

struct RoundEntry {
  double priority = 0;
  double speed = 0;
  const JobState* job = nullptr;
  Gang gang{};
};

std::vector<RoundContender> contenders_of(const View& view) {
  std::vector<RoundContender> contenders;
  view.jobs.for_each([&](const JobState& job) {
    if (!job.admitted) {
      return;
    }
    RoundContender contender{.job = &job, .gangs = rounds::gangs_of(job, view)};
    std::erase_if(contender.gangs, [&](const Gang& gang) {
      return gang.workers > view.capacity[gang.pool.value] ||
             view.speed(job, gang.pool, gang.workers) <= 0;
    });
    if (!contender.gangs.empty()) {
      contenders.push_back(std::move(contender));
    }
  });
  return contenders;
}

// Highest priority first; each job once, as long as GPUs last.
std::vector<Target> take_by_priority(std::vector<RoundEntry> entries, const View& view) {
  std::ranges::sort(entries, {}, [](const RoundEntry& entry) {
    return std::tuple(-entry.priority, entry.job->job.arrival, entry.job->id(), -entry.speed,
                      entry.gang.pool);
  });
  std::vector<int> free(view.capacity.begin(), view.capacity.end());
  std::set<JobId> taken;
  std::vector<Target> targets;
  for (const RoundEntry& entry : entries) {
    int& left = free[entry.gang.pool.value];
    if (entry.gang.workers <= left && taken.insert(entry.job->id()).second) {
      left -= entry.gang.workers;
      targets.push_back(
          Target{.job = entry.job->id(), .pool = entry.gang.pool, .workers = entry.gang.workers});
    }
  }
  return targets;
}

}  // namespace

Result<PriorityRoundsOptions> priority_rounds_options(const PolicyOptions& options) {
  const PriorityRoundsOptions standard;
  const auto round = options.number("round", to_seconds(standard.round), 1, 1e6);
  const auto half_life = options.number("half_life", to_seconds(standard.half_life), 1, 1e9);
  if (!round || !half_life) {
    return !round ? round.error() : half_life.error();
  }
  return PriorityRoundsOptions{.round = from_seconds(*round),
                               .half_life = from_seconds(*half_life)};
}

void PriorityRounds::joins(const JobState& job, const View& /*view*/) { received_[job.id()]; }

// Adds the round that ends now. A job that joined during it was present for a part only.
void PriorityRounds::remember(const View& view) {
  if (last_round() == kNever) {
    return;
  }
  for (auto& [id, received] : received_) {
    const JobState& job = view.jobs.at(id);
    const double seconds = to_seconds(view.now - std::max(last_round(), job.job.arrival));
    const double kept = std::exp2(-seconds / to_seconds(options_.half_life));
    received.present = received.present * kept + seconds;
    for (auto& [pool, time] : received.in) {
      time *= kept;
    }
    if (job.share > 0) {
      received.in[job.pool()] += seconds;
    }
  }
}

double PriorityRounds::priority(JobId job, PoolId pool, double fraction) const {
  const Received& received = received_.at(job);
  const auto found = received.in.find(pool);
  const bool is_served = found != received.in.end() && found->second > 0;
  return is_served ? fraction * received.present / found->second : fraction * kNeverServed;
}

std::vector<Target> PriorityRounds::hold_round(const View& view) {
  remember(view);
  const std::vector<RoundContender> contenders = contenders_of(view);
  const std::vector<std::vector<double>> wanted = fractions(contenders, view);
  std::vector<RoundEntry> entries;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    for (std::size_t gang = 0; gang < contenders[i].gangs.size(); ++gang) {
      const Gang& where = contenders[i].gangs[gang];
      entries.push_back(RoundEntry{
          .priority = priority(contenders[i].job->id(), where.pool, wanted[i][where.pool.value]),
          .speed = contenders[i].speed(gang, view),
          .job = contenders[i].job,
          .gang = where});
    }
  }
  return take_by_priority(std::move(entries), view);
}

std::string PriorityRounds::save() const {
  std::string state = rounds::FixedRounds::save();
  for (const auto& [id, received] : received_) {
    const auto job = static_cast<std::int64_t>(id.value);
    append_line(state, "job", {job, std::bit_cast<std::int64_t>(received.present)});
    for (const auto& [pool, time] : received.in) {
      append_line(state, "received",
                  {job, static_cast<std::int64_t>(pool.value), std::bit_cast<std::int64_t>(time)});
    }
  }
  return state;
}

Status PriorityRounds::restore(const SavedLine& line) {
  const std::vector<std::int64_t>& numbers = line.numbers;
  if (line.word == "job" && numbers.size() == 2) {
    received_[JobId{static_cast<std::uint64_t>(numbers[0])}].present =
        std::bit_cast<double>(numbers[1]);
  } else if (line.word == "received" && numbers.size() == 3) {
    received_[JobId{static_cast<std::uint64_t>(numbers[0])}]
        .in[PoolId{static_cast<std::uint64_t>(numbers[1])}] = std::bit_cast<double>(numbers[2]);
  } else {
    return unexpected(line);
  }
  return ok_status();
}

}  // namespace rubato::policy::gavel
