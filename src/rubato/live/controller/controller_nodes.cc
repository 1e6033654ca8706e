// Machines that come, go and come back, and what runs there meanwhile.
#include <algorithm>

#include <fmt/core.h>

#include "rubato/live/controller/controller.h"

namespace rubato {
namespace {

constexpr std::size_t kNodeNameMax = 200;  // Bytes.

// What is wrong with an offered node; empty: nothing.
std::string offer_problem(const wire::AgentNode& node) {
  if (node.name().empty() || node.name().size() > kNodeNameMax) {
    return fmt::format("its name has {} bytes, 1 to {} expected", node.name().size(), kNodeNameMax);
  }
  if (node.slots_size() < 1 || node.slots_size() > kSlotsOfALiveNodeMax) {
    return fmt::format("it has {} slots, 1 to {} expected", node.slots_size(),
                       kSlotsOfALiveNodeMax);
  }
  for (int i = 0; i < node.slots_size(); ++i) {
    if (node.slots(i).index() != i) {
      return "its slots are not numbered from 0 on";
    }
  }
  return "";
}

// Whether the machine is what it was; one that does not say is.
bool is_same_machine(const LiveNode& known, const wire::AgentNode& node) {
  return node.slots_size() == 0 ||
         (known.slots == node.slots_size() && known.gpu_type == node.gpu_type());
}

void attach_node(const wire::AgentNode& node, NodeRecord& record) {
  record.is_attached = true;
  record.is_emulated = node.emulated();
  record.devices.clear();
  for (const wire::AgentSlot& slot : node.slots()) {
    record.devices.push_back(slot.description());
  }
}

}  // namespace

Topology topology_of(std::span<const NodeRecord> nodes) {
  std::vector<NodeGroup> groups;
  for (const NodeRecord& record : nodes) {
    groups.push_back({.nodes = 1,
                      .gpus_per_node = record.node.slots,
                      .gpu_type = record.node.gpu_type,
                      .region = {.name = record.node.agent}});
  }
  return Topology(groups);
}

int Controller::site_of(const std::string& agent) {
  return sites_.try_emplace(agent, static_cast<int>(sites_.size())).first->second;
}

bool Controller::is_with(JobId job, const std::string& agent) const {
  const auto found = agents_.find(job);
  return found != agents_.end() && found->second == agent;
}

bool Controller::is_foreign(const LiveJob& job) const {
  return !speaker_.empty() && !is_with(job.id, speaker_);
}

// A node that an agent offers: one we know, one that was rebuilt, or a new one.
void Controller::welcome(const wire::AgentNode& node, const std::string& agent) {
  const auto known = std::ranges::find_if(
      nodes_, [&](const NodeRecord& record) { return record.node.name == node.name(); });
  if (known == nodes_.end()) {
    join(node, agent);
    return;
  }
  if (known->node.agent != agent) {
    tell("alarm", fmt::format("agent {} offers node {}, which is agent {}'s", agent, node.name(),
                              known->node.agent));
    return;
  }
  const NodeId id{static_cast<std::uint64_t>(known - nodes_.begin())};
  if (is_same_machine(known->node, node)) {
    attach_node(node, *known);
    slots_.set_lost(id, false);
    return;
  }
  if (const std::string problem = offer_problem(node); !problem.empty()) {
    tell("alarm", fmt::format("node {} cannot be used: {}", node.name(), problem));
    return;
  }
  // The machine of old is no more. Its number stays taken, its name is the new one's.
  known->node.name += fmt::format("~{}", id.value);
  known->is_attached = false;
  slots_.set_lost(id, true);
  lose_jobs_on(id);
  refresh_nodes();
  join(node, agent);
}

void Controller::join(const wire::AgentNode& node, const std::string& agent) {
  std::string problem = offer_problem(node);
  if (problem.empty() && nodes_.size() >= kLiveNodesMax) {
    problem = fmt::format("there are {} nodes already", nodes_.size());
  }
  const NodeJoin joining{
      .node = NodeId{nodes_.size()},
      .what = {.gpus = node.slots_size(), .gpu_type = node.gpu_type(), .region = agent}};
  if (!problem.empty()) {
    tell("alarm", fmt::format("node {} of agent {} cannot join: {}", node.name(), agent, problem));
    return;
  }
  nodes_.push_back({.node = {.name = node.name(),
                             .agent = agent,
                             .gpu_type = node.gpu_type(),
                             .slots = node.slots_size()}});
  attach_node(node, nodes_.back());
  topology_ = topology_of(nodes_);
  slots_.add_node(node.slots_size(), site_of(agent));
  tell("node.joined", fmt::format("node {} with {} slots joins by agent {}", node.name(),
                                  node.slots_size(), agent))
      .set_node(node.name());
  carry_out_all(engine_->on(now_, joining));
  if (shadow_) {
    shadow_->join(now_, joining);
  }
}

// Nobody is heard of there: what ran may run on, but counts for nothing until it is found again.
void Controller::lose_jobs_on(NodeId node) {
  for (auto& [id, job] : jobs_) {
    const SlotSet owned = is_over(job.state) ? SlotSet{} : slots_.owned(id);
    if (std::ranges::none_of(owned, [&](const SlotRef& slot) { return slot.node == node; })) {
      continue;
    }
    set_training(job, 0);
    if (job.state != LiveState::Profiling) {
      job.state = LiveState::Recovering;
    }
    tell("job.recovering", job,
         fmt::format("job {}: node {} is gone", id.value, nodes_.at(node.value).node.name));
  }
}

// The job holds nothing of this agent.
void Controller::let_go(const LiveJob& job, const std::string& agent) {
  SlotSet kept = slots_.owned(job.id);
  std::erase_if(
      kept, [&](const SlotRef& slot) { return nodes_.at(slot.node.value).node.agent == agent; });
  slots_.hold(job.id, kept);
}

}  // namespace rubato
