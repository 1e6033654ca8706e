// A second engine that goes on from where the first one stands; refusals it answers nothing about.
#include "rubato/base/check.h"
#include "rubato/engine/engine.h"

namespace rubato {

Engine Engine::fork() const {
  Engine copy(std::make_unique<EngineState>(*state_), maker_, placer_maker_);
  std::vector<HeldGpus> held;
  state_->jobs.for_each([&](const JobState& job) {
    if (job.share > 0) {
      held.push_back({.job = job.id(), .placement = job.placement});
    }
  });
  for (const Node& node : state_->topology.nodes()) {
    if (!state_->node_up[node.id.value]) {
      copy.placer_->set_node(node.id, false);
    }
  }
  RUBATO_CHECK(copy.placer_->take_over(held, placer_->memory()).ok());
  RUBATO_CHECK(copy.policy_->load(policy_->save()).ok());
  return copy;
}

}  // namespace rubato
