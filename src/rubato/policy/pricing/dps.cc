#include "rubato/policy/pricing/dps.h"

#include <limits>
#include <utility>

#include "rubato/policy/planning/crew_search.h"
#include "rubato/policy/pricing/pricing_policy.h"

namespace rubato::policy::pricing {
namespace {

using planning::JobWorth;

class Dps final : public PricingPolicy {
 public:
  explicit Dps(const planning::PlanningOptions& options)
      : PricingPolicy(planning::SiteKind::Nodes, options) {}

 protected:
  Verdict judge(const JobState& job, const View& view) override {
    const JobWorth worth(job, view);
    const auto best = search(job, worth, view);
    observe(job, worth, view);
    if (!best || best->booking.payoff() <= 0) {
      return turn_down(job, worth, view);
    }
    book().set(job.id(), planning::plan_of(*best, book()), view.now);
    return Verdict{.job = job.id(), .payment = best->booking.posting.cost};
  }

  bool replan(const JobState& job, const View& view) override {
    const auto best = search(job, JobWorth(job, view), view);
    if (!best || best->booking.payoff() <= 0) {
      // The cheapest window would be a distant one: nothing pays any more, so be done with it.
      return book_earliest(job, std::numeric_limits<int>::max(), view);
    }
    book().set(job.id(), planning::plan_of(*best, book()), view.now);
    return true;
  }

 private:
  // The best window in any pool; equal ones go to the first.
  [[nodiscard]] std::optional<planning::PoolBooking> search(const JobState& job,
                                                            const JobWorth& worth,
                                                            const View& view) const {
    std::optional<planning::PoolBooking> best;
    for (const Pool& pool : view.topology.pools()) {
      const planning::UseCalendar& calendar = book().calendar(pool.id);
      const auto crews = planning::crews_of(job, pool, view, std::numeric_limits<int>::max());
      const planning::SiteMarket market{.pool = pool.id,
                                        .room = {&calendar},
                                        .prices = &calendar,
                                        .curve = prices(),
                                        .one_price = true,
                                        .crowds = true};
      planning::keep_better(
          best, pool.id,
          planning::best_crew(
              market, crews, {.starts = starts_of(job, pool.id, planning::fastest_of(crews), view)},
              [&](Instant finish) { return worth.at(finish); }));
    }
    return best;
  }
};

}  // namespace

std::unique_ptr<Policy> make_dps(const planning::PlanningOptions& options) {
  return std::make_unique<Dps>(options);
}

Result<std::unique_ptr<Policy>> make_dps(const PolicyOptions& options) {
  const auto chosen = planning::planning_options(options);
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

}  // namespace rubato::policy::pricing
