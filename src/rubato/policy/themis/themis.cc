#include "rubato/policy/themis/themis.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "rubato/policy/rounds/fixed_rounds.h"
#include "rubato/policy/rounds/gang.h"
#include "rubato/policy/rounds/round_timer.h"
#include "rubato/policy/saved_state.h"
#include "rubato/policy/themis/partial_allocation.h"

namespace rubato::policy::themis {
namespace {

/// A job without a lease, at an auction.
struct Seeker {
  const JobState* job = nullptr;
  rounds::Gang wanted{};
  double ideal = 0;  // Seconds.
  double ratio = 0;
};

class Themis final : public Policy {
 public:
  explicit Themis(ThemisOptions options) : options_(options) {}

  [[nodiscard]] Traits traits() const override {
    return Traits{.resizes = true, .promises = false, .artifact_charge = ArtifactCharge::OnStart};
  }
  [[nodiscard]] Decision on(const Event& event, const View& view) override;
  [[nodiscard]] std::string save() const override;
  [[nodiscard]] Status load(std::string_view state) override;

 private:
  struct Standing {
    double crowd_at_arrival = 0;
    Instant lease_end{};
  };

  [[nodiscard]] bool holds_lease(const JobState& job, const View& view) const {
    return job.share > 0 && standings_.at(job.id()).lease_end > view.now;
  }
  [[nodiscard]] double crowd(Instant now) const {
    return crowd_ + static_cast<double>(standings_.size()) * to_seconds(now - counted_);
  }
  void count_crowd(Instant now) {
    crowd_ = crowd(now);
    counted_ = now;
  }
  [[nodiscard]] std::vector<Seeker> seekers_of(const View& view) const;
  [[nodiscard]] double finish_time(const Seeker& seeker, PoolId pool, int gpus,
                                   const View& view) const;
  [[nodiscard]] Bid bid_of(const Seeker& seeker, int free, const View& view) const;
  [[nodiscard]] std::vector<const Seeker*> bidders_of(const std::vector<Seeker>& seekers,
                                                      PoolId pool) const;
  void hold_auction(const View& view, Decision& decision);
  [[nodiscard]] Instant next_lease_end(const View& view) const;

  ThemisOptions options_;
  rounds::RoundTimer timer_;
  std::map<JobId, Standing> standings_;  // All admitted jobs.
  double crowd_ = 0;                     // Active jobs times seconds, up to `counted_`.
  Instant counted_{};
};

// Seconds from arrival to finish on so many GPUs from now on.
double Themis::finish_time(const Seeker& seeker, PoolId pool, int gpus, const View& view) const {
  const JobState& job = *seeker.job;
  const double elapsed = to_seconds(view.now - job.job.arrival);
  const double speed = view.speed(job, pool, gpus > 0 ? gpus : seeker.wanted.workers);
  const double wait = gpus > 0 ? 0 : to_seconds(options_.lease);
  return elapsed + wait + job.work_left(view.now) / speed;
}

// Worst ratio first.
std::vector<Seeker> Themis::seekers_of(const View& view) const {
  std::vector<Seeker> seekers;
  view.jobs.for_each([&](const JobState& job) {
    const auto standing = standings_.find(job.id());
    if (standing == standings_.end() || holds_lease(job, view)) {
      return;
    }
    Seeker seeker{.job = &job, .wanted = *rounds::gang_of(job, view)};
    const double elapsed = to_seconds(view.now - job.job.arrival);
    const double others = elapsed > 0
                              ? (crowd(view.now) - standing->second.crowd_at_arrival) / elapsed
                              : static_cast<double>(standings_.size());
    seeker.ideal = std::max(1.0, others) * job.job.work /
                   view.speed(job, seeker.wanted.pool, seeker.wanted.workers);
    const PoolId pool = job.share > 0 ? job.pool() : seeker.wanted.pool;
    seeker.ratio = finish_time(seeker, pool, job.share, view) / seeker.ideal;
    seekers.push_back(seeker);
  });
  std::ranges::sort(seekers, {}, [](const Seeker& seeker) {
    return std::tuple(-seeker.ratio, seeker.job->job.arrival, seeker.job->id());
  });
  return seekers;
}

Bid Themis::bid_of(const Seeker& seeker, int free, const View& view) const {
  const PoolId pool = seeker.wanted.pool;
  const auto offer = [&](int gpus) {
    return Offer{.gpus = gpus, .value = seeker.ideal / finish_time(seeker, pool, gpus, view)};
  };
  Bid bid{offer(0)};
  for (const ScalingPoint& point : view.curve(*seeker.job, pool).points()) {
    if (point.workers < seeker.wanted.workers && point.workers <= free) {
      bid.push_back(offer(point.workers));
    }
  }
  if (seeker.wanted.workers <= free) {
    bid.push_back(offer(seeker.wanted.workers));
  }
  return bid;
}

// The worst-off of those whose own pool this is; at least one, if there is any.
std::vector<const Seeker*> Themis::bidders_of(const std::vector<Seeker>& seekers,
                                              PoolId pool) const {
  std::vector<const Seeker*> bidders;
  for (const Seeker& seeker : seekers) {
    if (seeker.wanted.pool == pool) {
      bidders.push_back(&seeker);
    }
  }
  const double share = (1 - options_.filter) * static_cast<double>(bidders.size());
  const auto asked = static_cast<std::size_t>(std::ceil(share));
  bidders.resize(std::min({bidders.size(), std::max<std::size_t>(asked, 1),
                           static_cast<std::size_t>(options_.bidders_max)}));
  return bidders;
}

// The largest number of GPUs within both what the job asks for and what is free.
int most_within(const Seeker& seeker, PoolId pool, int free, const View& view) {
  const int wanted = seeker.wanted.workers;
  const bool takes_all = wanted <= free && seeker.wanted.pool == pool;
  return takes_all ? wanted
                   : view.curve(*seeker.job, pool).best_within(std::min(wanted, free)).workers;
}

// Hands out what is left: who has nothing yet takes the pool where it is fastest, who has something
// grows. `grants` has an entry for each job that got GPUs.
void hand_out(const std::vector<const Seeker*>& seekers, std::vector<int>& free, const View& view,
              std::map<JobId, Target>& grants) {
  for (const Seeker* seeker : seekers) {
    const auto granted = grants.find(seeker->job->id());
    Target best = granted != grants.end() ? granted->second : Target{.job = seeker->job->id()};
    const Target before = best;
    double fastest = best.workers > 0 ? view.speed(*seeker->job, best.pool, best.workers) : 0.0;
    for (const Pool& pool : view.topology.pools()) {
      if ((before.workers > 0 && before.pool != pool.id) ||
          view.curve(*seeker->job, pool.id).empty()) {
        continue;
      }
      const int room = free[pool.id.value] + before.workers;
      const int gpus = most_within(*seeker, pool.id, room, view);
      const double speed = gpus > 0 ? view.speed(*seeker->job, pool.id, gpus) : 0;
      if (speed > fastest) {
        fastest = speed;
        best.pool = pool.id;
        best.workers = gpus;
      }
    }
    if (best.workers > 0) {
      free[best.pool.value] -= best.workers - before.workers;
      grants[best.job] = best;
    }
  }
}

void Themis::hold_auction(const View& view, Decision& decision) {
  std::vector<int> free(view.capacity.begin(), view.capacity.end());
  std::vector<Target> running;
  view.jobs.for_each([&](const JobState& job) {
    if (job.share > 0 && holds_lease(job, view)) {
      free[job.pool().value] -= job.share;
      running.push_back(Target{.job = job.id(), .pool = job.pool(), .workers = job.share});
    }
  });
  const std::vector<Seeker> seekers = seekers_of(view);
  std::map<JobId, Target> grants;
  std::vector<const Seeker*> winners;
  for (const Pool& pool : view.topology.pools()) {
    const std::vector<const Seeker*> bidders = bidders_of(seekers, pool.id);
    std::vector<Bid> bids;
    bids.reserve(bidders.size());
    for (const Seeker* bidder : bidders) {
      bids.push_back(bid_of(*bidder, free[pool.id.value], view));
    }
    const std::vector<Award> awards = partial_allocation(bids, free[pool.id.value]);
    for (std::size_t i = 0; i < bidders.size(); ++i) {
      winners.push_back(bidders[i]);
      if (awards[i].gpus > 0) {
        free[pool.id.value] -= awards[i].gpus;
        grants[bidders[i]->job->id()] =
            Target{.job = bidders[i]->job->id(), .pool = pool.id, .workers = awards[i].gpus};
      }
    }
  }
  std::vector<const Seeker*> outside;
  for (const Seeker& seeker : seekers) {
    if (std::ranges::find(winners, &seeker) == winners.end()) {
      outside.push_back(&seeker);
    }
  }
  hand_out(outside, free, view, grants);
  hand_out(winners, free, view, grants);
  for (const auto& [id, target] : grants) {
    standings_.at(id).lease_end = later(view.now, std::max(options_.lease, view.slot));
    running.push_back(target);
  }
  rounds::run_only(running, view, decision);
}

Instant Themis::next_lease_end(const View& view) const {
  Instant next = kNever;
  for (const auto& [id, standing] : standings_) {
    if (standing.lease_end > view.now) {
      next = std::min(next, standing.lease_end);
    }
  }
  return next;
}

Decision Themis::on(const Event& event, const View& view) {
  Decision decision;
  if (const auto* arrival = std::get_if<Arrival>(&event)) {
    const JobState& job = view.jobs.at(arrival->job.id);
    const Reason reason = rounds::why_unrunnable(job, view);
    const bool runs = reason == Reason::None;
    decision.verdicts.push_back(Verdict{.job = job.id(),
                                        .kind = runs ? VerdictKind::Admit : VerdictKind::Refuse,
                                        .reason = reason});
    if (runs) {
      count_crowd(view.now);
      standings_[job.id()].crowd_at_arrival = crowd_;
    }
  } else if (const auto* completion = std::get_if<Completion>(&event)) {
    count_crowd(view.now);
    standings_.erase(completion->job);
  } else if (std::holds_alternative<Tick>(event)) {
    timer_.held(view.now);
    decision.is_round = true;
    hold_auction(view, decision);
    decision.wake_at = std::max(next_lease_end(view), timer_.next(view.now, view.slot));
    return decision;
  }
  decision.wake_at = standings_.empty() ? kNever : timer_.next(view.now, view.slot);
  return decision;
}

std::string Themis::save() const {
  std::string state;
  append_line(state, "round", {timer_.last().time_since_epoch().count()});
  append_line(state, "crowd",
              {std::bit_cast<std::int64_t>(crowd_), counted_.time_since_epoch().count()});
  for (const auto& [id, standing] : standings_) {
    append_line(state, "job",
                {static_cast<std::int64_t>(id.value),
                 std::bit_cast<std::int64_t>(standing.crowd_at_arrival),
                 standing.lease_end.time_since_epoch().count()});
  }
  return state;
}

Status Themis::load(std::string_view state) {
  const auto lines = read_lines(state);
  if (!lines) {
    return lines.error();
  }
  timer_ = rounds::RoundTimer{};
  standings_.clear();
  crowd_ = 0;
  counted_ = Instant{};
  for (const SavedLine& line : *lines) {
    const std::vector<std::int64_t>& numbers = line.numbers;
    if (line.word == "round" && numbers.size() == 1) {
      timer_.held(Instant{Duration{numbers[0]}});
    } else if (line.word == "crowd" && numbers.size() == 2) {
      crowd_ = std::bit_cast<double>(numbers[0]);
      counted_ = Instant{Duration{numbers[1]}};
    } else if (line.word == "job" && numbers.size() == 3) {
      standings_[JobId{static_cast<std::uint64_t>(numbers[0])}] =
          Standing{.crowd_at_arrival = std::bit_cast<double>(numbers[1]),
                   .lease_end = Instant{Duration{numbers[2]}}};
    } else {
      return unexpected(line);
    }
  }
  return ok_status();
}

}  // namespace

std::unique_ptr<Policy> make_themis(ThemisOptions options) {
  return std::make_unique<Themis>(options);
}

Result<std::unique_ptr<Policy>> make_themis(const PolicyOptions& options) {
  static constexpr std::array<std::string_view, 3> kKeys = {"lease", "filter", "bidders_max"};
  if (Status status = options.only(kKeys); !status) {
    return status.error();
  }
  const ThemisOptions standard;
  const auto lease = options.number("lease", to_seconds(standard.lease), 1, 1e7);
  const auto filter = options.number("filter", standard.filter, 0, 1);
  const auto bidders = options.number("bidders_max", standard.bidders_max, 1, 1000);
  if (!lease || !filter || !bidders) {
    return !lease ? lease.error() : !filter ? filter.error() : bidders.error();
  }
  return make_themis(ThemisOptions{
      .lease = from_seconds(*lease), .filter = *filter, .bidders_max = static_cast<int>(*bidders)});
}

PolicyInfo themis_policy() {
  return {.name = "themis",
          .paper = "Themis, NSDI'20",
          .fidelity = "after Themis: the auction exact, one job per app, leftovers not at random",
          .objective = "least unfair finish times, without gain from untrue claims",
          .needs = "speed curve, requested GPUs, run time",
          .use_when = "tenants compete and each should finish as if it had its share to itself",
          .options = "lease=1200 (s), filter=0.8, bidders_max=64",
          .make = make_themis};
}

}  // namespace rubato::policy::themis
