#include "rubato/policy/reconstructed/a_online.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "rubato/policy/planning/crew_search.h"
#include "rubato/policy/reconstructed/batching_policy.h"
#include "rubato/policy/reconstructed/dual_batch.h"

namespace rubato::policy::reconstructed {
namespace {

using planning::CrewChoice;
using planning::PoolBooking;
using planning::UseCalendar;

constexpr std::size_t kDensestMax = 32;  // Jobs of one batch.
constexpr int kStartsPerWindow = 8;
constexpr std::size_t kPulledMax = 32;  // Plans that one batch tries to bring forward.
constexpr int kSlowestCrew = 2;         // Times the run of the fastest.
constexpr double kLeast = 1e-9;         // For weights and work of nothing.

// A calendar of the same sites, with nothing reserved.
UseCalendar fresh(const UseCalendar& calendar) {
  planning::SiteCapacities capacity;
  for (std::size_t site = 0; site < calendar.sites(); ++site) {
    capacity.push_back({calendar.capacity(site, 0)});
  }
  return UseCalendar(std::move(capacity));
}

/// A job of a batch.
struct CrewEntrant {
  BatchJob batch{};
  std::vector<std::vector<CrewChoice>> crews{};  // [pool]

  /// No time at all if it can run nowhere.
  [[nodiscard]] Duration fastest() const {
    Duration found = kLongest;
    for (const std::vector<CrewChoice>& pool : crews) {
      found = std::min(found, planning::fastest_of(pool));
    }
    return found == kLongest ? Duration{} : found;
  }

  /// In a window made for a longer job the cheapest crew is a single worker, and GPUs stay idle.
  void drop_slow() {
    const Duration most = kSlowestCrew * fastest();
    for (std::vector<CrewChoice>& pool : crews) {
      std::erase_if(pool, [most](const CrewChoice& each) { return each.run_time > most; });
    }
  }
};

/// Prices of one batch.
struct Market {
  double theta = 1;
  std::vector<UseCalendar> prices{};  // [pool]
};

class AOnline final : public BatchingPolicy {
 public:
  explicit AOnline(const AOnlineOptions& options)
      : BatchingPolicy(planning::SiteKind::Nodes, {.slot = options.slot},
                       {.slot = options.slot, .slots_max = options.window}) {}

 protected:
  Verdict judge(const JobState& job, const View& view) override {
    enter(job, view);
    return Verdict{.job = job.id()};
  }

  void decide(const View& view, Decision& /*decision*/) override {
    schedule(view);
    pull_forward(view);
  }

 private:
  // The densest of those who wait, and how each could run in each pool.
  [[nodiscard]] std::vector<CrewEntrant> entrants(const View& view) const {
    std::vector<std::pair<double, JobId>> order;  // Worker-slots per weight, the fewest first.
    for (const JobId id : pending()) {
      const JobState& job = view.jobs.at(id);
      const double slots = planning::needs_of(job, view).gpu_time / to_seconds(batch_slot(view));
      order.emplace_back(slots / std::max(job.job.weight, kLeast), id);
    }
    std::ranges::sort(order);
    order.resize(std::min(order.size(), kDensestMax));
    std::vector<CrewEntrant> found;
    for (const auto& [slots_per_weight, id] : order) {
      const JobState& job = view.jobs.at(id);
      const double weight = std::max(job.job.weight, kLeast);
      CrewEntrant& entrant = found.emplace_back();
      entrant.batch = {
          .job = id, .weight = weight, .worker_slots = std::max(slots_per_weight * weight, kLeast)};
      for (const Pool& pool : view.topology.pools()) {
        entrant.crews.push_back(planning::crews_of(job, pool, view, job.job.requested));
      }
      entrant.drop_slow();
    }
    return found;
  }

  // The batch itself.
  void schedule(const View& view) {
    const std::vector<CrewEntrant> all = entrants(view);
    std::vector<BatchJob> jobs;
    std::map<JobId, const CrewEntrant*> by_id;
    Duration length = batch_window(view);
    for (const CrewEntrant& entrant : all) {
      jobs.push_back(entrant.batch);
      by_id[entrant.batch.job] = &entrant;
      length = std::max(length, entrant.fastest());
    }
    Market market{.theta = bases_of(jobs).workers};
    for (const Pool& pool : view.topology.pools()) {
      market.prices.push_back(fresh(book().calendar(pool.id)));
    }
    std::optional<PoolBooking> quoted;
    const auto quote = [&](JobId id, planning::TimeWindow window) -> std::optional<double> {
      quoted = cheapest(*by_id.at(id), window, market, view);
      return quoted ? std::optional(quoted->booking.posting.cost) : std::nullopt;
    };
    const auto accept = [&](JobId id) {
      planning::reserve(market.prices[quoted->pool.value], quoted->booking);
      book().set(id, planning::plan_of(*quoted, book()), view.now);
      pending().erase(id);
    };
    schedule_batch(std::move(jobs), view.now, length, {.quote = quote, .accept = accept});
  }

  // Lets who has not begun finish earlier where there is room by now, in the order of their plans.
  void pull_forward(const View& view) {
    std::vector<std::pair<Instant, JobId>> order;
    for (const auto& [job, plan] : book().plans()) {
      if (plan.segments.front().window.from > view.now && view.jobs.at(job).share == 0) {
        order.emplace_back(plan.segments.front().window.from, job);
      }
    }
    std::ranges::sort(order);
    order.resize(std::min(order.size(), kPulledMax));
    for (const auto& [start, job] : order) {
      const planning::BookedPlan old = *book().find(job);
      book().drop(job, view.now);
      if (!replan(view.jobs.at(job), view) || book().find(job)->finish() >= old.finish()) {
        book().set(job, old, view.now);
      }
    }
  }

  // A_mincost in all pools.
  [[nodiscard]] std::optional<PoolBooking> cheapest(const CrewEntrant& entrant,
                                                    planning::TimeWindow window,
                                                    const Market& prices, const View& view) const {
    const Duration part = (window.to - window.from) / kStartsPerWindow;
    const Instant step =
        planning::on_grid(Instant{std::max({part, view.slot, Duration{1}})}, view.slot);
    const JobState& job = view.jobs.at(entrant.batch.job);
    std::optional<PoolBooking> best;
    for (const Pool& pool : view.topology.pools()) {
      const planning::SiteMarket market{
          .pool = pool.id,
          .room = {&book().calendar(pool.id)},
          .prices = &prices.prices[pool.id.value],
          .curve = planning::from_zero(prices.theta),
          .price_slot = batch_slot(view),
          .rules = {.together = planning::together_cheapest, .apart = planning::apart_by_host}};
      planning::keep_better(
          best, pool.id,
          planning::best_crew(
              market, entrant.crews[pool.id.value],
              {.starts = planning::slot_edges(std::max(window.from, ready_at(job, pool.id, view)),
                                              step.time_since_epoch(), kStartsPerWindow, view.slot,
                                              /*grows=*/false),
               .last_finish = window.to},
              [](Instant) { return 0.0; }));
    }
    return best;
  }
};

}  // namespace

std::unique_ptr<Policy> make_a_online(const AOnlineOptions& options) {
  return std::make_unique<AOnline>(options);
}

Result<std::unique_ptr<Policy>> make_a_online(const PolicyOptions& options) {
  static constexpr std::array<std::string_view, 2> kKeys = {"slot", "window"};
  if (Status status = options.only(kKeys); !status) {
    return status.error();
  }
  AOnlineOptions chosen;
  const auto slot = options.number("slot", 0, 0, 1e9);
  const auto window = options.number("window", chosen.window, 1, 1e6);
  if (!slot || !window) {
    return !slot ? slot.error() : window.error();
  }
  chosen.slot = from_seconds(*slot);
  chosen.window = static_cast<int>(*window);
  return make_a_online(chosen);
}

PolicyInfo a_online_policy() {
  return {.name = "a-online",
          .paper = "A_online, MobiHoc'20",
          .fidelity = "after A_online: order in a batch and price bases are ours",
          .objective = "weighted completion time",
          .needs = "speed curve, weight",
          .use_when = "jobs have weights, no deadlines, and should not be resized",
          .options = "slot=0 (s, 0: a minute), window=16 (slots)",
          .make = make_a_online};
}

}  // namespace rubato::policy::reconstructed
