#include "rubato/policy/commitments.h"

#include <algorithm>

#include "rubato/base/check.h"

namespace rubato {

Commitments::Commitments(std::span<const int> capacity) {
  for (const int gpus : capacity) {
    ledgers_.emplace_back(gpus);
  }
}

const Plan* Commitments::find(JobId job) const {
  const auto found = plans_.find(job);
  return found == plans_.end() ? nullptr : &found->second.plan;
}

void Commitments::set(JobId job, Instant deadline, Plan plan, Instant now) {
  drop(job, now);
  insert(job, deadline, std::move(plan), now);
}

void Commitments::insert(JobId job, Instant deadline, Plan plan, Instant now) {
  for (const PlanSegment& segment : plan.segments) {
    ledgers_[plan.pool.value].reserve(std::max(segment.from, now), segment.to, segment.workers);
    ++changes_[segment.from];
  }
  by_deadline_.emplace(deadline, job);
  plans_.emplace(job, Commitment{.job = job, .deadline = deadline, .plan = std::move(plan)});
}

Plan Commitments::drop(JobId job, Instant now) {
  const auto found = plans_.find(job);
  if (found == plans_.end()) {
    return Plan{};
  }
  Plan plan = std::move(found->second.plan);
  for (const PlanSegment& segment : plan.segments) {
    ledgers_[plan.pool.value].release(std::max(segment.from, now), segment.to, segment.workers);
    const auto change = changes_.find(segment.from);
    if (change != changes_.end() && --change->second == 0) {
      changes_.erase(change);
    }
  }
  by_deadline_.erase(std::pair(found->second.deadline, job));
  plans_.erase(found);
  return plan;
}

void Commitments::change_capacity(PoolId pool, Instant from, int gpus) {
  ledgers_[pool.value].change_capacity(from, gpus);
}

void Commitments::advance(Instant now, Instant handled) {
  for (Ledger& ledger : ledgers_) {
    ledger.forget_before(now);
  }
  changes_.erase(changes_.begin(), changes_.upper_bound(handled));
}

void Commitments::replace_all(std::span<Commitment> commitments, std::span<const int> capacity) {
  *this = Commitments(capacity);
  for (Commitment& each : commitments) {
    insert(each.job, each.deadline, std::move(each.plan), Instant::min());
  }
}

std::vector<Instant> Commitments::changes_after(Instant after) const {
  std::vector<Instant> moments;
  for (auto each = changes_.upper_bound(after); each != changes_.end(); ++each) {
    moments.push_back(each->first);
  }
  return moments;
}

Instant Commitments::next_change() const {
  return changes_.empty() ? kNever : changes_.begin()->first;
}

}  // namespace rubato
