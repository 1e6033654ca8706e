#include "rubato/policy/afs/afs_l.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "rubato/policy/afs/pool_sharers.h"

namespace rubato::policy::afs {
namespace {

// How long the job has had no workers, in seconds.
double waited(const JobState& job, Instant now) {
  const Duration open = job.share == 0 ? now - job.usage.since : Duration{};
  return to_seconds(job.usage.waited + open);
}

class AfsL final : public rounds::RoundPolicy {
 public:
  explicit AfsL(AfsLOptions options) : options_(options) {}

 protected:
  void hold_round(const View& view, std::span<rounds::Seat> seats) override {
    std::vector<PoolSharers> pools = sharers_by_pool(view, seats, options_.packs);
    for (std::size_t pool = 0; pool < pools.size(); ++pool) {
      PoolSharers& here = pools[pool];
      const int left =
          give_smallest(here.sharers, shortest_first(here, view.now), view.capacity[pool]);
      share_by_pairs(here.sharers, left,
                     [](const PairContender& challenger, const PairContender& leader) {
                       return beats_by_length(challenger.bid, leader.bid);
                     });
      here.seat_all();
    }
  }

  bool measured(const JobState& /*job*/) override { return true; }

 private:
  // Indices by time left on the smallest count, less what waiting has earned.
  [[nodiscard]] std::vector<std::size_t> shortest_first(const PoolSharers& here,
                                                        Instant now) const {
    std::vector<double> lengths;
    for (std::size_t i = 0; i < here.sharers.size(); ++i) {
      const Sharer& sharer = here.sharers[i];
      const double length = sharer.steps.empty() ? 0 : sharer.smallest_length();
      lengths.push_back(length - options_.ageing * waited(*here.seats[i]->job, now));
    }
    std::vector<std::size_t> order(lengths.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return lengths[i]; });
    return order;
  }

  AfsLOptions options_;
};

}  // namespace

std::unique_ptr<Policy> make_afs_l(AfsLOptions options) { return std::make_unique<AfsL>(options); }

Result<std::unique_ptr<Policy>> make_afs_l(const PolicyOptions& options) {
  static constexpr std::array<std::string_view, 2> kKeys = {"packing", "ageing"};
  if (Status status = options.only(kKeys); !status) {
    return status.error();
  }
  AfsLOptions chosen;
  const auto packs = options.flag("packing", chosen.packs);
  const auto ageing = options.number("ageing", chosen.ageing, 0, 1e6);
  if (!packs || !ageing) {
    return !packs ? packs.error() : ageing.error();
  }
  chosen.packs = *packs;
  chosen.ageing = *ageing;
  return make_afs_l(chosen);
}

PolicyInfo afs_l_policy() {
  return {.name = "afs-l",
          .paper = "AFS, NSDI'21",
          .fidelity = "exact; packed counts by default",
          .objective = "mean completion time, run times known",
          .needs = "speed curve, work left",
          .use_when = "jobs can be resized cheaply and mean completion time matters",
          .options = "packing=on, ageing=0",
          .make = make_afs_l};
}

}  // namespace rubato::policy::afs
