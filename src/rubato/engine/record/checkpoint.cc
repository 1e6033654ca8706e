#include "rubato/engine/record/checkpoint.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include <fmt/core.h>

#include "rubato/engine/engine.h"

namespace rubato {
namespace {

/// One flag per GPU of each pool.
using TakenGpus = std::vector<std::vector<bool>>;

Error bad_checkpoint(const std::string& problem) {
  return bad_input(fmt::format("checkpoint: {}", problem));
}

// Whether the head was written by an engine on this cluster.
Status check_head(const CheckpointHead& head, const Topology& topology) {
  std::vector<int> gpus;
  for (const Pool& pool : topology.pools()) {
    gpus.push_back(pool.gpus);
  }
  const auto nodes = static_cast<int>(topology.nodes().size());
  if (head.gpus != gpus || head.nodes != nodes) {
    return bad_checkpoint(
        fmt::format("it was written on {} pools with {} nodes, here are {} with "
                    "{}, or with other numbers of GPUs",
                    head.gpus.size(), head.nodes, gpus.size(), nodes));
  }
  const bool rises =
      std::ranges::adjacent_find(head.down, std::ranges::greater_equal{}) == head.down.end();
  if (!rises || (!head.down.empty() && (head.down.front() < 0 || head.down.back() >= nodes))) {
    return bad_checkpoint("nodes are down that there are not");
  }
  return ok_status();
}

void set_head(const CheckpointHead& head, EngineState& state, Placer& placer) {
  state.now = head.now;
  state.wake = head.wake;
  state.rounds = static_cast<long>(head.rounds);
  state.random = Random(head.random);
  for (const int down : head.down) {
    const NodeId id{static_cast<std::uint64_t>(down)};
    const Node& node = state.topology.node(id);
    state.node_up[id.value] = false;
    state.capacity[node.pool.value] -= node.gpus;
    placer.set_node(id, false);
  }
}

// Whether these are rising ranges of GPUs of the pool.
bool are_gpus(const std::vector<GpuRange>& ranges, const Pool& pool) {
  int end = 0;
  for (const GpuRange& range : ranges) {
    if (range.first < end || range.first >= pool.gpus || range.count < 1 ||
        range.count > pool.gpus - range.first) {
      return false;
    }
    end = range.first + range.count;
  }
  return true;
}

// Whether the plan is one that an engine can have accepted.
bool is_ordered(const Plan& plan) {
  Instant end = Instant::min();
  for (const PlanSegment& segment : plan.segments) {
    if (segment.from < end || segment.to <= segment.from || segment.workers <= 0) {
      return false;
    }
    end = segment.to;
  }
  return true;
}

// False if one of the GPUs is down or belongs to somebody else.
bool take_gpus_of(const EngineState& state, const Placement& placement, TakenGpus& taken) {
  for (const GpuRange& range : placement.ranges) {
    for (int gpu = range.first; gpu < range.first + range.count; ++gpu) {
      std::vector<bool>& here = taken[placement.pool.value];
      const Node& node = state.topology.node_of(placement.pool, gpu);
      if (here[static_cast<std::size_t>(gpu)] || !state.node_up[node.id.value]) {
        return false;
      }
      here[static_cast<std::size_t>(gpu)] = true;
    }
  }
  return true;
}

// What is wrong with a job; empty if nothing is.
std::string problem_of(const EngineState& state, const JobState& job, TakenGpus& taken) {
  const std::size_t pools = state.topology.pools().size();
  if (job.pool().value >= pools || job.plan.pool.value >= pools) {
    return "is in a pool that there is not";
  }
  if (!are_gpus(job.placement.ranges, state.topology.pool(job.pool())) ||
      job.share != job.placement.gpus()) {
    return "has GPUs that there are not, or others than its share";
  }
  if (!take_gpus_of(state, job.placement, taken)) {
    return "has GPUs that are down or not its own";
  }
  return is_ordered(job.plan) ? "" : "has a plan that is disordered";
}

Status set_jobs(std::vector<JobState> jobs, EngineState& state, std::vector<HeldGpus>& held) {
  TakenGpus taken;
  for (const Pool& pool : state.topology.pools()) {
    taken.emplace_back(static_cast<std::size_t>(pool.gpus), false);
  }
  for (JobState& job : jobs) {
    const JobId id = job.id();
    std::string problem = problem_of(state, job, taken);
    if (state.jobs.find(id) != nullptr) {
      problem = "is there twice";
    }
    if (!problem.empty()) {
      return bad_checkpoint(fmt::format("job {} {}", id.value, problem));
    }
    if (job.share > 0) {
      state.used[job.pool().value] += job.share;
      held.push_back({.job = id, .placement = job.placement});
    }
    job.speed = state.speeds.resolve(job.job);
    state.jobs.insert(Job{.id = id}) = std::move(job);
  }
  return ok_status();
}

Status set_quotes(const std::vector<QuoteLine>& quotes, EngineState& state) {
  for (const QuoteLine& each : quotes) {
    JobState* job = state.jobs.find(each.job);
    if (job == nullptr) {
      return bad_checkpoint(fmt::format("job {} was quoted and is not there", each.job.value));
    }
    job->quote = each.quote;
  }
  return ok_status();
}

// Whether all that was learnt is about pools that there are.
template <typename Any>
bool are_known(const std::map<PoolId, Any>& by_pool, std::size_t pools) {
  return by_pool.empty() || by_pool.rbegin()->first.value < pools;
}

Status check_goodputs(const GoodputBook::Contents& contents, std::size_t pools) {
  const auto is_sound = [pools](const auto& each) {
    return are_known(each.second.pools, pools) && are_known(each.second.limits_there, pools);
  };
  return std::ranges::all_of(contents.jobs, is_sound) &&
                 std::ranges::all_of(contents.models, is_sound)
             ? ok_status()
             : Status(bad_checkpoint("something was learnt about a pool that there is not"));
}

// Whether nothing has happened to the engine yet.
bool is_untouched(const EngineState& state) {
  return state.now == Instant{} && state.jobs.size() == 0 && state.speeds.kinds() == 0 &&
         state.rounds == 0 && std::ranges::all_of(state.node_up, [](bool up) { return up; });
}

Status set_state(CheckpointContents contents, EngineState& state, Placer& placer) {
  if (Status head = check_head(contents.head, state.topology); !head) {
    return head;
  }
  set_head(contents.head, state, placer);
  for (const Job& kind : contents.kinds) {
    state.speeds.resolve(kind);
  }
  std::vector<HeldGpus> held;
  if (Status jobs = set_jobs(std::move(contents.jobs), state, held); !jobs) {
    return jobs;
  }
  if (Status quotes = set_quotes(contents.quotes, state); !quotes) {
    return quotes;
  }
  state.quote_count = contents.quote_count;
  if (Status sound = check_goodputs(contents.goodputs, state.topology.pools().size()); !sound) {
    return sound;
  }
  state.goodputs.restore(std::move(contents.goodputs));
  state.memory.restore(contents.head.artifact_rounds, std::move(contents.groups));
  state.unserved = std::move(contents.unserved);
  return placer.take_over(held, contents.placer);
}

}  // namespace

std::string Engine::save() const {
  return checkpoint_text(
      {.state = *state_, .refusals = refusals_, .placer = *placer_, .policy = *policy_});
}

Status Engine::load(std::string_view text) {
  if (!is_untouched(*state_)) {
    return bad_checkpoint("only an engine that nothing has happened to can go on from one");
  }
  auto contents = read_checkpoint(text);
  if (!contents) {
    return contents.error();
  }
  for (const Refusals::Entry& entry : contents->refusals) {
    refusals_.add(entry.job, entry.verdict);
  }
  for (const NewNode& node : contents->joined) {
    if (const Status joined = take_in(node); !joined) {
      return bad_checkpoint(joined.error().message);
    }
    // Which nodes are down stands in the head; all others are up.
    const Node& last = state_->topology.nodes().back();
    state_->node_up[last.id.value] = true;
    state_->capacity[last.pool.value] += last.gpus;
    placer_->set_node(last.id, true);
  }
  const std::string_view policy = contents->policy;
  if (Status state = set_state(*std::move(contents), *state_, *placer_); !state) {
    return state;
  }
  return policy_->load(policy);
}

}  // namespace rubato
