#include "rubato/policy/afs/afs_p.h"

#include <array>
#include <cstdint>
#include <numeric>

#include "rubato/policy/afs/pool_sharers.h"

namespace rubato::policy::afs {
namespace {

// Every bit of the result depends on every bit given (the finalizer of splitmix64).
std::uint64_t mixed(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebU;
  return bits ^ (bits >> 31U);
}

// One job of a pair, as far as its coin depends on it.
struct Coin {
  std::uint64_t job = 0;
  std::uint64_t share = 0;
};

// A fair coin that always falls alike for this pair at these shares; true for the first.
bool falls_for_first(const Coin& first, const Coin& second) {
  const std::uint64_t shares = first.share << 32U | second.share;
  return mixed(mixed(mixed(first.job) + second.job) + shares) % 2 == 0;
}

// GPUs it takes to give everyone the smallest count.
int smallest_gpus(std::span<const Sharer> sharers) {
  return std::accumulate(sharers.begin(), sharers.end(), 0, [](int sum, const Sharer& sharer) {
    return sum + (sharer.steps.empty() ? 0 : sharer.steps.front().workers);
  });
}

// Everyone starts at the smallest count; the rest goes out by pairs.
void share_with_room(PoolSharers& here, int gpus) {
  for (Sharer& sharer : here.sharers) {
    sharer.taken = sharer.steps.empty() ? 0 : 1;
  }
  const auto coin = [&](const PairContender& one) {
    return Coin{.job = here.seats[one.sharer]->job->id().value,
                .share = static_cast<std::uint64_t>(here.sharers[one.sharer].now().workers)};
  };
  share_by_pairs(
      here.sharers, gpus - smallest_gpus(here.sharers),
      [&](const PairContender& challenger, const PairContender& leader) {
        const Winner winner = winner_at_any_length(challenger.bid, leader.bid);
        return winner == Winner::Challenger ||
               (winner == Winner::Open && falls_for_first(coin(challenger), coin(leader)));
      });
}

class AfsP final : public rounds::RoundPolicy {
 public:
  explicit AfsP(const AfsPOptions& options) : options_(options), turns_(options.turns) {}

 protected:
  void hold_round(const View& view, std::span<rounds::Seat> seats) override {
    std::vector<PoolSharers> pools = sharers_by_pool(view, seats, options_.packs);
    for (std::size_t pool = 0; pool < pools.size(); ++pool) {
      PoolSharers& here = pools[pool];
      if (smallest_gpus(here.sharers) > view.capacity[pool]) {
        turns_.share(view.now, view.capacity[pool], here.seats, here.sharers);
      } else {
        turns_.release(here.seats);
        share_with_room(here, view.capacity[pool]);
      }
      here.seat_all();
    }
  }

  void leaves(JobId job) override { turns_.forget(job); }
  [[nodiscard]] Instant next_change(const View& /*view*/) const override {
    return turns_.next_end();
  }

  void append_state(std::string& state) const override { turns_.append_to(state); }
  Status restore(const SavedLine& line) override {
    return turns_.restore(line) ? ok_status() : Status(unexpected(line));
  }
  void clear() override { turns_.clear(); }

 private:
  AfsPOptions options_;
  QuantumTurns turns_;
};

}  // namespace

std::unique_ptr<Policy> make_afs_p(AfsPOptions options) { return std::make_unique<AfsP>(options); }

Result<std::unique_ptr<Policy>> make_afs_p(const PolicyOptions& options) {
  static constexpr std::array<std::string_view, 3> kKeys = {"packing", "quantum", "turns"};
  static constexpr std::array<std::string_view, 2> kOrders = {"longest_wait", "fewest"};
  if (Status status = options.only(kKeys); !status) {
    return status.error();
  }
  AfsPOptions chosen;
  const auto packs = options.flag("packing", chosen.packs);
  const auto quantum = options.number("quantum", to_seconds(chosen.turns.quantum), 1, 1e9);
  const auto order = options.word("turns", "longest_wait", kOrders);
  if (!packs || !quantum || !order) {
    return !packs ? packs.error() : !quantum ? quantum.error() : order.error();
  }
  chosen.packs = *packs;
  chosen.turns.quantum = from_seconds(*quantum);
  chosen.turns.fewest_turns_first = *order == "fewest";
  return make_afs_p(chosen);
}

PolicyInfo afs_p_policy() {
  return {.name = "afs-p",
          .paper = "AFS, NSDI'21",
          .fidelity = "exact; packed counts by default, repeatable coin",
          .objective = "mean completion time, run times unknown",
          .needs = "speed curve",
          .use_when = "run times are unknown and there are seldom more jobs than GPUs",
          .options = "packing=on, quantum=7200 (s), turns=longest_wait|fewest",
          .make = make_afs_p};
}

}  // namespace rubato::policy::afs
