#include "rubato/policy/tenant_split.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "rubato/base/check.h"
#include "rubato/policy/gang.h"
#include "rubato/policy/saved_state.h"

namespace rubato {
namespace {

/// One copy of the policy with the world it sees.
struct Part {
  std::unique_ptr<Policy> policy{};
  std::set<JobId> members{};
  JobTable jobs{};              // What the copy sees of its members; brought up to date for a call.
  std::vector<int> capacity{};  // As it was last told.
  Instant wake = kNever;
};

// Nothing can be promised on GPUs that somebody else may claim.
Job without_promise(Job job) {
  job.job_class = JobClass::BestEffort;
  job.deadline = kNever;
  return job;
}

// All that changes while a job is active.
void refresh(JobState& copy, const JobState& job) {
  copy.speed = job.speed;
  copy.speed_factor = job.speed_factor;
  copy.admitted = job.admitted;
  copy.promised = job.promised;
  copy.reason = job.reason;
  copy.share = job.share;
  copy.placement = job.placement;
  copy.progress = job.progress;
  copy.usage = job.usage;
  copy.plan = job.plan;
  copy.first_start = job.first_start;
  copy.resizes = job.resizes;
  copy.migrations = job.migrations;
  copy.restarts = job.restarts;
}

/// What is decided in one call, by all copies together.
struct Merged {
  Decision decision{};
  std::map<JobId, Target> targets{};
  std::set<const Part*> called{};
};

class TenantSplit final : public Policy {
 public:
  TenantSplit(std::vector<TenantGpus> tenants, const std::function<std::unique_ptr<Policy>()>& make)
      : tenants_(std::move(tenants)) {
    for (std::size_t i = 0; i <= tenants_.size(); ++i) {
      parts_.push_back(Part{.policy = make()});
    }
  }

  [[nodiscard]] Traits traits() const override { return parts_.front().policy->traits(); }
  [[nodiscard]] Decision on(const Event& event, const View& view) override;
  [[nodiscard]] std::string save() const override;
  [[nodiscard]] Status load(std::string_view state) override;

 private:
  [[nodiscard]] Part& rest() { return parts_.back(); }
  [[nodiscard]] int owed(const TenantGpus& tenant, PoolId pool, const View& view) const;
  [[nodiscard]] bool has_room_for(const JobState& job, const TenantGpus& tenant,
                                  const View& view) const;
  [[nodiscard]] Part& part_for(const JobState& job, const View& view);
  [[nodiscard]] Part* part_with(JobId job);
  [[nodiscard]] std::vector<int> held_in(PoolId pool, const View& view, const Merged& merged) const;
  [[nodiscard]] std::vector<int> due_in(PoolId pool, const View& view, const Merged& merged) const;
  [[nodiscard]] std::vector<int> capacity_of(const Part& part, const View& view,
                                             const Merged& merged) const;
  void bring_up_to_date(Part& part, const View& view, const Merged& merged);
  [[nodiscard]] NodeChange as_before(const View& view) const;
  void ask(Part& part, const Event& event, const View& view, Merged& merged);
  void call(Part& part, const Event& event, const View& view, Merged& merged);
  void route(const Event& event, const View& view, Merged& merged);
  void squeeze_rest(const View& view, Merged& merged);
  void tell_capacities(const View& view, Merged& merged);

  std::vector<TenantGpus> tenants_;
  std::vector<Part> parts_;  // One for each tenant, then the rest.
  std::set<NodeId> down_;
};

// GPUs of a pool that the tenant can count on while all nodes are up.
int TenantSplit::owed(const TenantGpus& tenant, PoolId pool, const View& view) const {
  if (!tenant.has_the_rest) {
    return pool.value < tenant.gpus.size() ? tenant.gpus[pool.value] : 0;
  }
  int left = view.topology.pool(pool).gpus;
  for (const TenantGpus& each : tenants_) {
    left -= each.has_the_rest ? 0 : owed(each, pool, view);
  }
  return std::max(left, 0);
}

// True if some pool has as many GPUs for the tenant as the policy will give the job at least.
bool TenantSplit::has_room_for(const JobState& job, const TenantGpus& tenant,
                               const View& view) const {
  if (!traits().resizes) {
    const auto gang = gang_of(job, view);
    return !gang || gang->workers <= owed(tenant, gang->pool, view);
  }
  return std::ranges::any_of(view.topology.pools(), [&](const Pool& pool) {
    const ScalingCurve& curve = view.curve(job, pool.id);
    return !curve.empty() && curve.smallest().workers <= owed(tenant, pool.id, view);
  });
}

// Jobs that their tenant's GPUs can never hold go to the rest.
Part& TenantSplit::part_for(const JobState& job, const View& view) {
  const auto found = std::ranges::find_if(tenants_, [&](const TenantGpus& each) {
    return each.tenant == job.job.tenant || each.tenant.empty();
  });
  const bool is_guaranteed = job.job.job_class != JobClass::BestEffort && found != tenants_.end() &&
                             has_room_for(job, *found, view);
  return is_guaranteed ? parts_[static_cast<std::size_t>(found - tenants_.begin())] : rest();
}

Part* TenantSplit::part_with(JobId job) {
  const auto found =
      std::ranges::find_if(parts_, [job](const Part& part) { return part.members.contains(job); });
  return found == parts_.end() ? nullptr : &*found;
}

// GPUs of one pool that each tenant's jobs hold once this decision is carried out.
std::vector<int> TenantSplit::held_in(PoolId pool, const View& view, const Merged& merged) const {
  std::vector<int> held(tenants_.size(), 0);
  for (std::size_t i = 0; i < tenants_.size(); ++i) {
    for (const JobId id : parts_[i].members) {
      const auto target = merged.targets.find(id);
      const JobState* job = view.jobs.find(id);
      if (target != merged.targets.end()) {
        held[i] += target->second.pool == pool ? target->second.workers : 0;
      } else if (job != nullptr) {
        held[i] += job->pool() == pool ? job->share : 0;
      }
    }
  }
  return held;
}

// GPUs of one pool that each tenant may use. If nodes are down and there are fewer than all are
// owed, everyone keeps what he holds, and what is left goes to those who have least of their due.
std::vector<int> TenantSplit::due_in(PoolId pool, const View& view, const Merged& merged) const {
  std::vector<int> due;
  int left = view.capacity[pool.value];
  for (const TenantGpus& tenant : tenants_) {
    due.push_back(owed(tenant, pool, view));
    left -= due.back();
  }
  if (left >= 0) {
    return due;
  }
  const std::vector<int> owed = std::exchange(due, held_in(pool, view, merged));
  left = view.capacity[pool.value] - std::accumulate(due.begin(), due.end(), 0);
  for (; left > 0; --left) {
    std::size_t poorest = due.size();
    for (std::size_t i = 0; i < due.size(); ++i) {
      const bool has_less = poorest == due.size() || static_cast<long>(due[i]) * owed[poorest] <
                                                         static_cast<long>(due[poorest]) * owed[i];
      poorest = due[i] < owed[i] && has_less ? i : poorest;
    }
    ++due.at(poorest);
  }
  return due;
}

std::vector<int> TenantSplit::capacity_of(const Part& part, const View& view,
                                          const Merged& merged) const {
  const auto index = static_cast<std::size_t>(&part - parts_.data());
  std::vector<int> capacity;
  for (const Pool& pool : view.topology.pools()) {
    if (index < tenants_.size()) {
      capacity.push_back(due_in(pool.id, view, merged)[index]);
    } else {
      const std::vector<int> held = held_in(pool.id, view, merged);
      capacity.push_back(view.capacity[pool.id.value] -
                         std::accumulate(held.begin(), held.end(), 0));
    }
  }
  return capacity;
}

// Copies the states of the members; what is decided already counts as done.
void TenantSplit::bring_up_to_date(Part& part, const View& view, const Merged& merged) {
  std::vector<JobId> gone;
  for (const JobId id : part.members) {
    const JobState* job = view.jobs.find(id);
    JobState* copy = part.jobs.find(id);
    if (job == nullptr) {
      gone.push_back(id);
      continue;
    }
    if (copy == nullptr) {
      copy = &part.jobs.insert(&part == &rest() ? without_promise(job->job) : job->job);
    }
    refresh(*copy, *job);
    copy->job_class =
        copy->job.job_class == JobClass::BestEffort ? JobClass::BestEffort : job->job_class;
    const auto target = merged.targets.find(id);
    if (target != merged.targets.end() && target->second.workers == 0 && copy->share > 0) {
      copy->progress.change(view.now, 0, Duration{});
      copy->share = 0;
      copy->placement.ranges.clear();
    }
  }
  for (const JobId id : gone) {
    part.members.erase(id);
    if (part.jobs.find(id) != nullptr) {
      part.jobs.erase(id);
    }
  }
}

// Asks one copy, in its own world, and takes its decision into the common one.
void TenantSplit::ask(Part& part, const Event& event, const View& view, Merged& merged) {
  const View own{.now = view.now,
                 .topology = view.topology,
                 .capacity = part.capacity,
                 .jobs = part.jobs,
                 .speeds = view.speeds,
                 .goodputs = view.goodputs,
                 .costs = view.costs,
                 .slot = view.slot,
                 .random = view.random,
                 .nodes_up = view.nodes_up,
                 .tenants = view.tenants};
  Decision decision = part.policy->on(event, own);
  part.wake = decision.wake_at;
  merged.called.insert(&part);
  Decision& all = merged.decision;
  for (Verdict& verdict : decision.verdicts) {
    const JobClass wanted = view.jobs.at(verdict.job).job.job_class;
    if (&part == &rest() && verdict.kind == VerdictKind::Admit && wanted != JobClass::BestEffort) {
      verdict.kind = VerdictKind::Demote;
      verdict.reason = Reason::QuotaFull;
    }
    all.verdicts.push_back(verdict);
  }
  std::ranges::move(decision.plans, std::back_inserter(all.plans));
  if (!decision.is_round) {
    return;
  }
  all.is_round = true;
  if (!decision.keep_others) {
    part.jobs.for_each([&](const JobState& job) {
      if (job.share > 0) {
        merged.targets[job.id()] = Target{.job = job.id(), .pool = job.pool()};
      }
    });
  }
  for (Target& target : decision.targets) {
    merged.targets[target.job] = std::move(target);
  }
}

// The state of a node, told once more: policies look at their GPUs anew, and nothing false is said.
NodeChange TenantSplit::as_before(const View& view) const {
  const NodeId node = view.topology.nodes().front().id;
  return NodeChange{.node = node, .up = !down_.contains(node)};
}

// A change of its GPUs is told to a copy before anything else; but first of all that a job is over.
void TenantSplit::call(Part& part, const Event& event, const View& view, Merged& merged) {
  bring_up_to_date(part, view, merged);
  const std::vector<int> told = std::exchange(part.capacity, capacity_of(part, view, merged));
  const auto differs = std::ranges::mismatch(part.capacity, told);
  const bool is_news = !told.empty() && differs.in1 != part.capacity.end() &&
                       !std::holds_alternative<NodeChange>(event);
  const bool is_end = std::holds_alternative<Completion>(event);
  if (is_news && !is_end) {
    ask(part, as_before(view), view, merged);
  }
  ask(part, event, view, merged);
  if (is_news && is_end) {
    ask(part, as_before(view), view, merged);
  }
}

void TenantSplit::route(const Event& event, const View& view, Merged& merged) {
  if (const auto* arrival = std::get_if<Arrival>(&event)) {
    Part& part = part_for(view.jobs.at(arrival->job.id), view);
    part.members.insert(arrival->job.id);
    call(part, &part == &rest() ? Arrival{.job = without_promise(arrival->job)} : *arrival, view,
         merged);
    return;
  }
  if (std::holds_alternative<Tick>(event) || std::holds_alternative<NodeChange>(event)) {
    const bool is_tick = std::holds_alternative<Tick>(event);
    for (Part& part : parts_) {
      if (&part == &rest()) {
        squeeze_rest(view, merged);
      }
      if (!is_tick || part.wake <= view.now) {
        call(part, event, view, merged);
      }
    }
    return;
  }
  JobId job{};
  if (const auto* completion = std::get_if<Completion>(&event)) {
    job = completion->job;
  } else if (const auto* report = std::get_if<Measured>(&event)) {
    job = report->job;
  } else if (const auto* reply = std::get_if<Reply>(&event)) {
    job = reply->job;
  }
  if (Part* part = part_with(job)) {
    call(*part, event, view, merged);
  }
}

// Stops the youngest jobs of the rest while the tenants' jobs need their GPUs, and tells its copy.
void TenantSplit::squeeze_rest(const View& view, Merged& merged) {
  std::vector<int> left = capacity_of(rest(), view, merged);
  std::vector<std::pair<JobId, const JobState*>> running;
  for (const JobId id : rest().members) {
    const JobState* job = view.jobs.find(id);
    const auto target = merged.targets.find(id);
    if (target != merged.targets.end()) {
      left[target->second.pool.value] -= target->second.workers;
    } else if (job != nullptr && job->share > 0) {
      left[job->pool().value] -= job->share;
      running.emplace_back(id, job);
    }
  }
  std::vector<const JobState*> stopped;
  for (auto each = running.rbegin(); each != running.rend(); ++each) {
    const JobState& job = *each->second;
    if (left[job.pool().value] < 0) {
      left[job.pool().value] += job.share;
      merged.targets[job.id()] = Target{.job = job.id(), .pool = job.pool()};
      merged.decision.is_round = true;
      stopped.push_back(&job);
    }
  }
  for (const JobState* job : stopped) {
    call(rest(), Measured{.job = job->id(), .done = job->progress.at(view.now)}, view, merged);
  }
}

// Parts that have more or fewer GPUs than they were told. What a part that has just been called
// decided is not carried out yet, so it is told at the next tick.
void TenantSplit::tell_capacities(const View& view, Merged& merged) {
  for (Part& part : parts_) {
    const std::vector<int> capacity = capacity_of(part, view, merged);
    const auto differs = std::ranges::mismatch(capacity, part.capacity);
    if (part.members.empty() || part.capacity.empty() || differs.in1 == capacity.end()) {
      continue;
    }
    if (merged.called.contains(&part)) {
      merged.decision.wake_at = view.now;
      continue;
    }
    call(part, as_before(view), view, merged);
  }
}

Decision TenantSplit::on(const Event& event, const View& view) {
  Merged merged;
  if (const auto* change = std::get_if<NodeChange>(&event)) {
    change->up ? static_cast<void>(down_.erase(change->node))
               : static_cast<void>(down_.insert(change->node));
  }
  route(event, view, merged);
  squeeze_rest(view, merged);
  tell_capacities(view, merged);
  Decision decision = std::move(merged.decision);
  for (auto& [id, target] : merged.targets) {
    decision.targets.push_back(std::move(target));
  }
  for (const Part& part : parts_) {
    decision.wake_at = std::min(decision.wake_at, part.wake);
  }
  return decision;
}

std::string TenantSplit::save() const {
  std::string state;
  for (const NodeId node : down_) {
    append_line(state, "down", {static_cast<std::int64_t>(node.value)});
  }
  for (const Part& part : parts_) {
    const std::string inner = part.policy->save();
    append_line(state, "part",
                {part.wake.time_since_epoch().count(), static_cast<std::int64_t>(inner.size())});
    state += inner;
    for (const int gpus : part.capacity) {
      append_line(state, "gpus", {gpus});
    }
    for (const JobId id : part.members) {
      append_line(state, "job", {static_cast<std::int64_t>(id.value)});
    }
  }
  return state;
}

Status TenantSplit::load(std::string_view state) {
  std::size_t next = 0;
  down_.clear();
  while (!state.empty()) {
    const std::size_t end = std::min(state.find('\n'), state.size() - 1) + 1;
    const auto lines = read_lines(state.substr(0, end));
    state.remove_prefix(end);
    if (!lines) {
      return lines.error();
    }
    const SavedLine& line = lines->front();
    if (line.word == "part" && line.numbers.size() == 2 && next < parts_.size()) {
      Part& part = parts_[next++];
      part.wake = Instant{Duration{line.numbers[0]}};
      part.members.clear();
      part.jobs = JobTable{};
      part.capacity.clear();
      const auto size = static_cast<std::size_t>(line.numbers[1]);
      if (size > state.size()) {
        return unexpected(line);
      }
      if (Status inner = part.policy->load(state.substr(0, size)); !inner) {
        return inner;
      }
      state.remove_prefix(size);
    } else if (line.word == "down" && line.numbers.size() == 1) {
      down_.insert(NodeId{static_cast<std::uint64_t>(line.numbers[0])});
    } else if (line.word == "gpus" && line.numbers.size() == 1 && next > 0) {
      parts_[next - 1].capacity.push_back(static_cast<int>(line.numbers[0]));
    } else if (line.word == "job" && line.numbers.size() == 1 && next > 0) {
      parts_[next - 1].members.insert(JobId{static_cast<std::uint64_t>(line.numbers[0])});
    } else {
      return unexpected(line);
    }
  }
  return ok_status();
}

}  // namespace

std::unique_ptr<Policy> split_by_tenant(std::vector<TenantGpus> tenants,
                                        const std::function<std::unique_ptr<Policy>()>& make) {
  return std::make_unique<TenantSplit>(std::move(tenants), make);
}

}  // namespace rubato
