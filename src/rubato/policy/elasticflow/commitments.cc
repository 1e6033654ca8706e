#include "rubato/policy/elasticflow/commitments.h"

#include <algorithm>

#include "rubato/base/check.h"

namespace rubato::policy::elasticflow {
namespace {

// Below this many entries a sweep is not worth its trouble.
constexpr std::size_t kSweptFrom = 16;

// The first moment after `now` at which the plan has another number of workers.
Instant end_of_standing(const Plan& plan, Instant now) {
  for (const PlanSegment& segment : plan.segments) {
    if (now < segment.from) {
      return segment.from;
    }
    if (now < segment.to) {
      return segment.to;
    }
  }
  return kNever;
}

}  // namespace

Commitments::Commitments(std::span<const int> capacity) {
  for (const int gpus : capacity) {
    ledgers_.emplace_back(gpus);
  }
}

Commitments::Entry* Commitments::entry(JobId job) {
  const auto found = std::ranges::lower_bound(plans_, job, {}, &Entry::job);
  return found == plans_.end() || found->job != job || !found->is_set ? nullptr : &*found;
}

const Plan* Commitments::find(JobId job) const {
  const auto found = std::ranges::lower_bound(plans_, job, {}, &Entry::job);
  return found == plans_.end() || found->job != job || !found->is_set ? nullptr
                                                                      : &found->commitment.plan;
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
  auto place = std::ranges::lower_bound(plans_, job, {}, &Entry::job);
  if (place == plans_.end() || place->job != job) {
    place = plans_.insert(place, Entry{.job = job});
  }
  RUBATO_CHECK(!place->is_set);
  place->is_set = true;
  place->stands_until = Instant::min();
  place->over_at = plan.empty() ? Instant::min() : plan.finish();
  place->commitment = Commitment{.job = job, .deadline = deadline, .plan = std::move(plan)};
}

Plan Commitments::drop(JobId job, Instant now) {
  Entry* found = entry(job);
  if (found == nullptr) {
    return Plan{};
  }
  Plan plan = std::move(found->commitment.plan);
  for (const PlanSegment& segment : plan.segments) {
    ledgers_[plan.pool.value].release(std::max(segment.from, now), segment.to, segment.workers);
    const auto change = changes_.find(segment.from);
    if (change != changes_.end() && --change->second == 0) {
      changes_.erase(change);
    }
  }
  by_deadline_.erase(std::pair(found->commitment.deadline, job));
  found->is_set = false;
  found->commitment.plan = Plan{};
  if (plans_.size() > kSweptFrom && by_deadline_.size() < plans_.size() / 2) {
    std::erase_if(plans_, [](const Entry& each) { return !each.is_set; });
  }
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
  for (const Commitment& each : commitments) {
    plans_.push_back(Entry{.job = each.job});
  }
  std::ranges::sort(plans_, {}, &Entry::job);
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

std::vector<JobId> Commitments::over_by(Instant now) const {
  std::vector<std::pair<Instant, JobId>> found;
  for (const Entry& each : plans_) {
    if (each.is_set && each.over_at <= now) {
      found.emplace_back(each.commitment.deadline, each.job);
    }
  }
  std::ranges::sort(found);
  std::vector<JobId> jobs;
  jobs.reserve(found.size());
  for (const auto& [deadline, job] : found) {
    jobs.push_back(job);
  }
  return jobs;
}

Instant Commitments::next_change() const {
  return changes_.empty() ? kNever : changes_.begin()->first;
}

const Standing* Commitments::Reading::find(JobId job) {
  while (next_ != entries_.end() && next_->job < job) {
    ++next_;
  }
  if (next_ == entries_.end() || next_->job != job || !next_->is_set) {
    return nullptr;
  }
  if (next_->stands_until <= now_) {
    const Plan& plan = next_->commitment.plan;
    next_->standing = Standing{.pool = plan.pool, .workers = plan.at(now_)};
    next_->stands_until = end_of_standing(plan, now_);
  }
  return &next_->standing;
}

}  // namespace rubato::policy::elasticflow
