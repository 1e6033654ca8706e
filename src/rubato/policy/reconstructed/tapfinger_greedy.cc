#include "rubato/policy/reconstructed/tapfinger_greedy.h"

#include <algorithm>
#include <array>
#include <queue>
#include <tuple>

#include "rubato/policy/afs/pair_sharing.h"
#include "rubato/policy/afs/worker_steps.h"
#include "rubato/policy/reconstructed/pick_conflict.h"
#include "rubato/policy/rounds/round_policy.h"

namespace rubato::policy::reconstructed {
namespace {

using rounds::Seat;

/// A task that an agent may pick.
struct Wish {
  std::size_t seat = 0;
  double score = 0;  // Completions per GPU and second on the smallest count.
  int least = 0;     // The smallest count.
};

/// One pool.
struct Agent {
  PoolId pool{};
  int free = 0;
  std::vector<Wish> wishes{};  // Best first.
  std::size_t next = 0;        // The first that may still be picked.
  double scores = 0;           // Of all its wishes.
};

// Seconds until the task would be done on the smallest count, its data's way here included.
double time_left(const JobState& job, const View& view, PoolId pool) {
  const Instant ready =
      later(job.job.arrival, view.topology.upload_time(pool, job.job.region, job.job.data_gb));
  const double waits = ready > view.now ? to_seconds(ready - view.now) : 0;
  const double speed = view.curve(job, pool).smallest().speed * job.speed_factor;
  // A task about to end must not score infinity.
  return std::max(waits + job.work_left(view.now) / speed, 1e-9);
}

Wish wish_of(const JobState& job, const View& view, PoolId pool, std::size_t seat) {
  const int least = view.curve(job, pool).smallest().workers;
  return Wish{.seat = seat, .score = 1 / (time_left(job, view, pool) * least), .least = least};
}

// The agents with what is free beyond the least of those who run; waiting tasks as their wishes.
std::vector<Agent> agents_of(const View& view, std::span<Seat> seats) {
  std::vector<Agent> agents;
  for (const Pool& pool : view.topology.pools()) {
    Agent agent{.pool = pool.id, .free = view.capacity[pool.id.value]};
    for (std::size_t i = 0; i < seats.size(); ++i) {
      const JobState& job = *seats[i].job;
      if (view.curve(job, pool.id).empty()) {
        continue;
      }
      const Wish wish = wish_of(job, view, pool.id, i);
      if (job.share == 0) {
        agent.wishes.push_back(wish);
        agent.scores += wish.score;
      } else if (job.pool() == pool.id && wish.least <= agent.free) {
        agent.free -= wish.least;
        seats[i].pool = pool.id;
        seats[i].workers = wish.least;
      }
    }
    std::ranges::stable_sort(agent.wishes, std::ranges::greater{}, &Wish::score);
    agents.push_back(std::move(agent));
  }
  return agents;
}

// Its best task that nobody has started and for which there is room; null if there is none.
const Wish* pick(Agent& agent, std::span<const Seat> seats) {
  // Rooms only shrink and tasks only start, so who is passed over is out.
  while (agent.next < agent.wishes.size()) {
    const Wish& wish = agent.wishes[agent.next];
    if (seats[wish.seat].workers == 0 && wish.least <= agent.free) {
      return &wish;
    }
    ++agent.next;
  }
  return nullptr;
}

// One step of all agents; false if nobody starts anything.
bool step(std::span<Agent> agents, std::span<Seat> seats) {
  // Agents in order, grouped by the task they picked.
  std::vector<std::pair<std::size_t, std::size_t>> picked;
  for (std::size_t a = 0; a < agents.size(); ++a) {
    if (const Wish* wish = pick(agents[a], seats)) {
      picked.emplace_back(wish->seat, a);
    }
  }
  std::ranges::sort(picked);
  for (std::size_t first = 0; first < picked.size();) {
    std::vector<Pick> picks;
    std::size_t last = first;
    for (; last < picked.size() && picked[last].first == picked[first].first; ++last) {
      const Agent& agent = agents[picked[last].second];
      const Wish& wish = agent.wishes[agent.next];
      picks.push_back({.probability = wish.score / agent.scores,
                       .room = static_cast<double>(agent.free) / wish.least});
    }
    Agent& winner = agents[picked[first + winner_of(picks)].second];
    const Wish& wish = winner.wishes[winner.next];
    seats[wish.seat].pool = winner.pool;
    seats[wish.seat].workers = wish.least;
    winner.free -= wish.least;
    first = last;
  }
  return !picked.empty();
}

/// A started task on its way up.
struct Climber {
  Seat* seat = nullptr;
  afs::Sharer sharer{};

  /// Completions per second that the next block adds, per GPU; zero at the top.
  [[nodiscard]] double marginal() const {
    if (!sharer.can_grow() || sharer.work <= 0) {
      return 0;
    }
    return (sharer.steps[sharer.taken].speed - sharer.now().speed) / sharer.work /
           sharer.next_gpus();
  }
};

std::vector<Climber> climbers_of(const Agent& agent, const View& view, std::span<Seat> seats) {
  std::vector<Climber> climbers;
  for (Seat& seat : seats) {
    if (seat.workers > 0 && seat.pool == agent.pool) {
      const JobState& job = *seat.job;
      climbers.push_back(
          Climber{.seat = &seat,
                  .sharer = {.steps = afs::usable_steps(view.curve(job, agent.pool),
                                                        view.topology.pool(agent.pool).gpus),
                             .work = job.work_left(view.now) / job.speed_factor,
                             .taken = 1}});
    }
  }
  return climbers;
}

// What is free goes to the highest marginal rate per GPU, block by block.
void climb(std::vector<Climber>& climbers, int free) {
  // Ties to the older task: a larger second entry comes out first.
  using Entry = std::tuple<double, std::ptrdiff_t>;
  std::priority_queue<Entry> line;
  for (std::size_t i = 0; i < climbers.size(); ++i) {
    line.emplace(climbers[i].marginal(), -static_cast<std::ptrdiff_t>(i));
  }
  while (!line.empty()) {
    const auto [marginal, index] = line.top();
    line.pop();
    Climber& climber = climbers[static_cast<std::size_t>(-index)];
    if (marginal > 0 && climber.sharer.next_gpus() <= free) {
      free -= climber.sharer.next_gpus();
      ++climber.sharer.taken;
      line.emplace(climber.marginal(), index);
    }
  }
}

class TapfingerGreedy final : public rounds::RoundPolicy {
 public:
  explicit TapfingerGreedy(TapfingerOptions options) : options_(options) {}

 protected:
  void hold_round(const View& view, std::span<Seat> seats) override {
    std::vector<Agent> agents = agents_of(view, seats);
    while (step(agents, seats)) {
    }
    for (const Agent& agent : agents) {
      std::vector<Climber> climbers = climbers_of(agent, view, seats);
      climb(climbers, agent.free);
      for (const Climber& climber : climbers) {
        climber.seat->workers = worthwhile(climber, view);
      }
    }
  }

  bool measured(const JobState& /*job*/) override { return true; }

 private:
  // The count climbed to, or the present one if growing saves less than it costs.
  [[nodiscard]] int worthwhile(const Climber& climber, const View& view) const {
    const JobState& job = *climber.seat->job;
    const ScalingPoint found = climber.sharer.now();
    if (job.share == 0 || found.workers <= job.share) {
      return found.workers;
    }
    const double now = view.curve(job, climber.seat->pool).speed(job.share);
    const double saved = climber.sharer.work / now - climber.sharer.work / found.speed;
    return saved > options_.switch_slots * to_seconds(view.slot) ? found.workers : job.share;
  }

  TapfingerOptions options_;
};

}  // namespace

std::unique_ptr<Policy> make_tapfinger_greedy(TapfingerOptions options) {
  return std::make_unique<TapfingerGreedy>(options);
}

Result<std::unique_ptr<Policy>> make_tapfinger_greedy(const PolicyOptions& options) {
  static constexpr std::array<std::string_view, 1> kKeys = {"switch"};
  if (Status status = options.only(kKeys); !status) {
    return status.error();
  }
  TapfingerOptions chosen;
  const auto switch_slots = options.number("switch", chosen.switch_slots, 0, 1e6);
  if (!switch_slots) {
    return switch_slots.error();
  }
  chosen.switch_slots = *switch_slots;
  return make_tapfinger_greedy(chosen);
}

PolicyInfo tapfinger_greedy_policy() {
  return {.name = "tapfinger-greedy",
          .paper = "TapFinger, INFOCOM'23",
          .fidelity = "after TapFinger: a greedy rule stands in for its trained agents",
          .objective = "mean completion time over several edge clusters",
          .needs = "speed curve, work left",
          .use_when = "several regions or GPU types share one queue of tasks",
          .options = "switch=0.5 (slots)",
          .make = make_tapfinger_greedy};
}

}  // namespace rubato::policy::reconstructed
