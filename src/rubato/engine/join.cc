// A machine joins a running cluster: whatever knows the machines is made anew around it.
//
// All jobs keep their GPUs, because the numbers of what was there stay. The policy goes on from its
// saved state, so what it only remembers to be quick is worked out again for the larger cluster.
#include <utility>

#include <fmt/core.h>

#include "rubato/base/check.h"
#include "rubato/engine/engine.h"

namespace rubato {
namespace {

// The same kinds, in the same order, on other machines.
SpeedBook book_for(const SpeedBook& known, const Topology& topology) {
  SpeedBook book(known.rows(), topology);
  book.add(known.profiles());
  for (const Job& kind : known.examples()) {
    book.resolve(kind);
  }
  return book;
}

std::vector<HeldGpus> held_gpus(const EngineState& state) {
  std::vector<HeldGpus> held;
  state.jobs.for_each([&](const JobState& job) {
    if (job.share > 0) {
      held.push_back({.job = job.id(), .placement = job.placement});
    }
  });
  return held;
}

}  // namespace

Status Engine::take_in(const NewNode& node) {
  if (!placer_->quotas().empty()) {
    return bad_input("the placer has divided the cluster among tenants; it cannot grow");
  }
  auto grown = with_node(state_->topology, node);
  if (!grown) {
    return grown.error();
  }
  auto placer = placer_maker_(*grown);
  if (!placer) {
    return placer.error();
  }
  std::vector<bool> node_up = state_->node_up;
  node_up.push_back(false);
  for (std::size_t i = 0; i < node_up.size(); ++i) {
    if (!node_up[i]) {
      (*placer)->set_node(NodeId{i}, false);
    }
  }
  if (Status taken = (*placer)->take_over(held_gpus(*state_), placer_->memory()); !taken) {
    return taken;
  }
  state_->speeds = book_for(state_->speeds, *grown);
  state_->topology = *std::move(grown);
  state_->capacity.resize(state_->topology.pools().size(), 0);
  state_->used.resize(state_->topology.pools().size(), 0);
  state_->node_up = std::move(node_up);
  state_->joined.push_back(node);
  placer_ = *std::move(placer);
  const std::string saved = policy_->save();
  policy_ = maker_();
  RUBATO_CHECK(policy_->load(saved).ok());
  return ok_status();
}

Commands Engine::on(Instant now, const NodeJoin& join) {
  RUBATO_CHECK(now >= state_->now);
  state_->now = now;
  Commands commands;
  const std::size_t next = state_->topology.nodes().size();
  const Status joined =
      join.node.value == next
          ? take_in(join.what)
          : bad_input(fmt::format("node {} cannot join: {} is next", join.node.value, next));
  if (!joined) {
    commands.emplace_back(Alarm{.fault = joined.error().message});
    return commands;
  }
  decide(NodeChange{.node = join.node, .up = false}, commands);
  tell_unserved(commands);
  return commands;
}

}  // namespace rubato
