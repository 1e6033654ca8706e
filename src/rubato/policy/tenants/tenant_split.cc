#include "rubato/policy/tenants/tenant_split.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "rubato/base/check.h"
#include "rubato/policy/rounds/gang.h"
#include "rubato/policy/saved_state.h"

namespace rubato::policy::tenants {
namespace {

// Between two looks at what others gave back at least.
constexpr Duration kPatience = std::chrono::milliseconds(1);

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

// The job as it will be. A copy that is called again must not take its own decision for undone.
void carry_out(const Target& target, const View& view, JobState& copy) {
  if (copy.share == target.workers && (target.workers == 0 || copy.pool() == target.pool)) {
    return;
  }
  const double speed = target.workers == 0 ? 0 : view.speed(copy, target.pool, target.workers);
  copy.progress.change(view.now, speed, Duration{});
  copy.share = target.workers;
  copy.placement = {.pool = target.workers == 0 ? copy.pool() : target.pool};
  copy.first_start = target.workers == 0 ? copy.first_start : std::min(copy.first_start, view.now);
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
      : dues_(std::move(tenants)) {
    for (std::size_t i = 0; i < dues_.lines().size(); ++i) {
      parts_.push_back(Part{.policy = make()});
    }
  }

  [[nodiscard]] Traits traits() const override { return parts_.front().policy->traits(); }
  [[nodiscard]] Decision on(const Event& event, const View& view) override;
  [[nodiscard]] std::string save() const override;
  [[nodiscard]] Status load(std::string_view state) override;

 private:
  [[nodiscard]] std::size_t index_of(const Part& part) const {
    return static_cast<std::size_t>(&part - parts_.data());
  }
  [[nodiscard]] const TenantLine& line_of(const Part& part) const {
    return dues_.lines()[index_of(part)];
  }
  [[nodiscard]] bool is_best_effort(const Part& part) const { return line_of(part).is_best_effort; }
  [[nodiscard]] bool has_room_for(const JobState& job, const TenantGpus& tenant, int borrowed,
                                  const View& view) const;
  [[nodiscard]] const TenantGpus* tenant_of(const JobState& job) const;
  [[nodiscard]] bool is_too_wide(const JobState& job, const View& view) const;
  [[nodiscard]] Part& part_for(const JobState& job, const View& view);
  [[nodiscard]] Part* part_with(JobId job);
  [[nodiscard]] LineGpus held(const View& view, const Merged& merged) const;
  [[nodiscard]] std::vector<Part*> turns(const View& view, const Merged& merged);
  void bring_up_to_date(Part& part, const View& view, const Merged& merged);
  [[nodiscard]] NodeChange as_before(const View& view) const;
  void ask(Part& part, const Event& event, const View& view, Merged& merged);
  void call(Part& part, const Event& event, const View& view, Merged& merged);
  void route(const Event& event, const View& view, Merged& merged);
  [[nodiscard]] bool is_in_the_way(const Part& part, PoolId pool, const LineGpus& held,
                                   const View& view) const;
  void reclaim_borrowed(const View& view, Merged& merged);
  void tell_capacities(const View& view, Merged& merged);

  TenantQuotas dues_;
  std::vector<Part> parts_;  // One for each line.
  std::set<NodeId> down_;
};

// True if some pool has as many GPUs for the tenant, with so many borrowed, as the policy will give
// the job at least.
bool TenantSplit::has_room_for(const JobState& job, const TenantGpus& tenant, int borrowed,
                               const View& view) const {
  if (!traits().resizes) {
    const auto gang = rounds::gang_of(job, view);
    return !gang || gang->workers <= dues_.owed(tenant, gang->pool, view) + borrowed;
  }
  return std::ranges::any_of(view.topology.pools(), [&](const Pool& pool) {
    const ScalingCurve& curve = view.curve(job, pool.id);
    return !curve.empty() &&
           curve.smallest().workers <= dues_.owed(tenant, pool.id, view) + borrowed;
  });
}

// Null if it is nobody's.
const TenantGpus* TenantSplit::tenant_of(const JobState& job) const {
  const auto found = std::ranges::find_if(dues_.tenants(), [&](const TenantGpus& each) {
    return each.tenant == job.job.tenant || each.tenant.empty();
  });
  return found == dues_.tenants().end() ? nullptr : &*found;
}

// Whether the job could never run on what its tenant has and may borrow.
bool TenantSplit::is_too_wide(const JobState& job, const View& view) const {
  const TenantGpus* tenant = tenant_of(job);
  return tenant != nullptr && tenant->borrow && !has_room_for(job, *tenant, *tenant->borrow, view);
}

// Jobs that their tenant's GPUs can never hold are of best effort.
Part& TenantSplit::part_for(const JobState& job, const View& view) {
  const TenantGpus* tenant = tenant_of(job);
  if (tenant == nullptr) {
    return parts_.back();
  }
  const bool is_guaranteed =
      job.job.job_class != JobClass::BestEffort && has_room_for(job, *tenant, 0, view);
  const auto index = static_cast<std::size_t>(tenant - dues_.tenants().data());
  const auto line = std::ranges::find_if(dues_.lines(), [&](const TenantLine& each) {
    return each.tenant == index && each.is_best_effort != is_guaranteed;
  });
  return line == dues_.lines().end()
             ? parts_.back()
             : parts_[static_cast<std::size_t>(line - dues_.lines().begin())];
}

Part* TenantSplit::part_with(JobId job) {
  const auto found =
      std::ranges::find_if(parts_, [job](const Part& part) { return part.members.contains(job); });
  return found == parts_.end() ? nullptr : &*found;
}

// What the jobs of each line hold once this decision is carried out.
LineGpus TenantSplit::held(const View& view, const Merged& merged) const {
  LineGpus held;
  for (const Part& part : parts_) {
    std::vector<int>& here = held.emplace_back(view.topology.pools().size(), 0);
    for (const JobId id : part.members) {
      const auto target = merged.targets.find(id);
      if (target != merged.targets.end()) {
        here[target->second.pool.value] += target->second.workers;
      } else if (const JobState* job = view.jobs.find(id)) {
        here[job->pool().value] += job->share;
      }
    }
  }
  return held;
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
      copy = &part.jobs.insert(is_best_effort(part) ? without_promise(job->job) : job->job);
    }
    refresh(*copy, *job);
    copy->job_class =
        copy->job.job_class == JobClass::BestEffort ? JobClass::BestEffort : job->job_class;
    if (const auto target = merged.targets.find(id); target != merged.targets.end()) {
      carry_out(target->second, view, *copy);
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
    if (is_best_effort(part) && verdict.kind == VerdictKind::Admit &&
        wanted != JobClass::BestEffort) {
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
  const std::vector<int> told =
      std::exchange(part.capacity, dues_.usable(index_of(part), held(view, merged), view));
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
    const JobState& job = view.jobs.at(arrival->job.id);
    if (is_too_wide(job, view)) {
      merged.decision.verdicts.push_back(
          {.job = job.id(), .kind = VerdictKind::Refuse, .reason = Reason::QuotaFull});
      return;
    }
    Part& part = part_for(job, view);
    part.members.insert(arrival->job.id);
    call(part, is_best_effort(part) ? Arrival{.job = without_promise(arrival->job)} : *arrival,
         view, merged);
    return;
  }
  if (std::holds_alternative<Tick>(event) || std::holds_alternative<NodeChange>(event)) {
    const bool is_tick = std::holds_alternative<Tick>(event);
    for (Part* part : turns(view, merged)) {
      if (is_best_effort(*part)) {
        reclaim_borrowed(view, merged);
      }
      if (!is_tick || part->wake <= view.now) {
        call(*part, event, view, merged);
      }
    }
    return;
  }
  JobId job{};
  if (const auto* completion = std::get_if<Completion>(&event)) {
    job = completion->job;
  } else if (const auto* report = std::get_if<ProgressReport>(&event)) {
    job = report->job;
  } else if (const auto* reply = std::get_if<OfferReply>(&event)) {
    job = reply->job;
  }
  if (Part* part = part_with(job)) {
    call(*part, event, view, merged);
  }
}

// Promises first; of the others those before who have borrowed least.
std::vector<Part*> TenantSplit::turns(const View& view, const Merged& merged) {
  const LineGpus held = this->held(view, merged);
  std::vector<Part*> order;
  for (Part& part : parts_) {
    order.push_back(&part);
  }
  std::ranges::stable_sort(order, {}, [&](const Part* part) {
    const std::vector<int> borrowed =
        is_best_effort(*part) ? dues_.borrowed(index_of(*part), held, view) : std::vector<int>{};
    return std::pair(is_best_effort(*part), std::accumulate(borrowed.begin(), borrowed.end(), 0));
  });
  return order;
}

// Whether this line has borrowed GPUs of the pool that it must give back.
bool TenantSplit::is_in_the_way(const Part& part, PoolId pool, const LineGpus& held,
                                const View& view) const {
  const std::size_t line = index_of(part);
  return dues_.borrowed(line, held, view)[pool.value] > 0 &&
         (dues_.is_over(pool, held, view) || dues_.over_limit(line, held, view) > 0);
}

// Stops the youngest jobs on borrowed GPUs while their owners need them, and tells their copies.
void TenantSplit::reclaim_borrowed(const View& view, Merged& merged) {
  LineGpus held = this->held(view, merged);
  if (dues_.within_limits(held, view)) {
    return;
  }
  std::map<JobId, Part*> borrowers;  // The youngest last.
  for (Part& part : parts_) {
    for (const JobId id : part.members) {
      if (is_best_effort(part)) {
        borrowers.emplace(id, &part);
      }
    }
  }
  std::vector<std::pair<Part*, const JobState*>> stopped;
  for (auto each = borrowers.rbegin(); each != borrowers.rend(); ++each) {
    const auto& [id, part] = *each;
    const JobState* job = view.jobs.find(id);
    const auto target = merged.targets.find(id);
    const bool is_decided = target != merged.targets.end();
    const int workers = is_decided ? target->second.workers : job == nullptr ? 0 : job->share;
    const PoolId pool = is_decided ? target->second.pool : job == nullptr ? PoolId{} : job->pool();
    if (workers == 0 || job == nullptr || !is_in_the_way(*part, pool, held, view)) {
      continue;
    }
    held[index_of(*part)][pool.value] -= workers;
    merged.targets[id] = Target{.job = id, .pool = job->pool()};
    merged.decision.is_round = true;
    stopped.emplace_back(part, job);
  }
  for (const auto& [part, job] : stopped) {
    call(*part, ProgressReport{.job = job->id(), .done = job->progress.at(view.now)}, view, merged);
  }
}

// Parts that have more or fewer GPUs than they were told. What a part that has just been called
// decided is not carried out yet, so it is told at the next tick. Lines of best effort live on what
// the others leave: they hear at once, or a slot later, of more, and of less when they are called.
void TenantSplit::tell_capacities(const View& view, Merged& merged) {
  LineGpus held = this->held(view, merged);
  for (Part& part : parts_) {
    if (part.members.empty() || part.capacity.empty()) {
      continue;
    }
    const std::vector<int> capacity = dues_.usable(index_of(part), held, view);
    const bool shares_the_idle = is_best_effort(part) && line_of(part).tenant;
    const auto news = shares_the_idle
                          ? std::ranges::mismatch(capacity, part.capacity, std::less_equal{})
                          : std::ranges::mismatch(capacity, part.capacity);
    if (news.in1 == capacity.end()) {
      continue;
    }
    if (!merged.called.contains(&part)) {
      call(part, as_before(view), view, merged);
      held = this->held(view, merged);
    } else {
      const Instant soon = later(view.now, std::max(view.slot, kPatience));
      merged.decision.wake_at =
          std::min(merged.decision.wake_at, shares_the_idle ? soon : view.now);
    }
  }
}

Decision TenantSplit::on(const Event& event, const View& view) {
  Merged merged;
  if (const auto* change = std::get_if<NodeChange>(&event)) {
    change->up ? static_cast<void>(down_.erase(change->node))
               : static_cast<void>(down_.insert(change->node));
  }
  route(event, view, merged);
  reclaim_borrowed(view, merged);
  tell_capacities(view, merged);
  // Whoever is told may claim what is its own: each line once at most.
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    reclaim_borrowed(view, merged);
  }
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

}  // namespace rubato::policy::tenants
