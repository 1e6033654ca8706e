#include "rubato/policy/dps.h"

#include <limits>
#include <utility>

#include "rubato/policy/crew_search.h"
#include "rubato/policy/price_history.h"

namespace rubato {
namespace {

class Dps final : public PlanningPolicy {
 public:
  explicit Dps(const PlanningOptions& options) : PlanningPolicy(SiteKind::Nodes, options) {}

 protected:
  Verdict judge(const JobState& job, const View& view) override {
    const JobWorth worth(job, view);
    const auto best = search(job, worth, view);
    observe(job, worth, view);
    if (!best || best->booking.payoff() <= 0) {
      return turn_down(job, worth, view);
    }
    book().set(job.id(), plan_of(*best, book()), view.now);
    return Verdict{.job = job.id(), .payment = best->booking.posting.cost};
  }

  bool replan(const JobState& job, const View& view) override {
    const auto best = search(job, JobWorth(job, view), view);
    if (!best || best->booking.payoff() <= 0) {
      // The cheapest window would be a distant one: nothing pays any more, so be done with it.
      return book_earliest(job, std::numeric_limits<int>::max(), view);
    }
    book().set(job.id(), plan_of(*best, book()), view.now);
    return true;
  }

  void save_more(std::string& state) const override { history_.save(state); }
  bool restore_more(const SavedLine& line) override { return history_.restore(line); }
  void clear_more() override { history_ = PriceHistory{}; }

 private:
  // The best window in any pool; equal ones go to the first.
  [[nodiscard]] std::optional<PoolBooking> search(const JobState& job, const JobWorth& worth,
                                                  const View& view) const {
    std::optional<PoolBooking> best;
    for (const Pool& pool : view.topology.pools()) {
      const UseCalendar& calendar = book().calendar(pool.id);
      const auto crews = crews_of(job, pool, view, std::numeric_limits<int>::max());
      const CrewMarket market{.pool = pool.id,
                              .room = {&calendar},
                              .prices = &calendar,
                              .curve = history_.curve(options().estimate),
                              .one_price = true,
                              .crowds = true};
      keep_better(
          best, pool.id,
          best_crew(market, crews, {.starts = starts_of(job, pool.id, fastest_of(crews), view)},
                    [&](Instant finish) { return worth.at(finish); }));
    }
    return best;
  }

  void observe(const JobState& job, const JobWorth& worth, const View& view) {
    const JobNeeds needs = needs_of(job, view);
    const Duration slot = slot_of(needs.fastest, view);
    const Instant start = round_at(view);
    const Duration horizon = edges_of(job, PoolId{0}, needs.fastest, view).back() - start;
    history_.observe({.best_value = worth.at(later(start, needs.fastest)),
                      .late_value = worth.at(later(start, horizon)),
                      .gpu_time = needs.gpu_time,
                      .top_time = options().by_slot ? to_seconds(slot) : needs.gpu_time,
                      .all_time = view.topology.gpus() * to_seconds(horizon)});
  }

  PriceHistory history_;
};

}  // namespace

std::unique_ptr<Policy> make_dps(const PlanningOptions& options) {
  return std::make_unique<Dps>(options);
}

Result<std::unique_ptr<Policy>> make_dps(const PolicyOptions& options) {
  const auto chosen = planning_options(options);
  if (!chosen) {
    return chosen.error();
  }
  return make_dps(*chosen);
}

PolicyInfo dps_policy() {
  return {.name = "dps",
          .paper = "DPS, IEEE TMC'22",
          .fidelity = "after DPS: the price function is ours",
          .objective = "social welfare: total value of finished jobs",
          .needs = "speed curve, value, regions",
          .use_when = "jobs bid for GPUs in several places and pay for them",
          .options = "slot=0 (s, 0: by job), horizon=100 (slots), estimate=0.5, range=job|slot",
          .make = make_dps};
}

}  // namespace rubato
