#include "rubato/core/job_table.h"

#include <algorithm>
#include <utility>

#include "rubato/base/check.h"

namespace rubato {

JobTable::JobTable(const JobTable& other) {
  other.for_each([this](const JobState& state) {
    JobState& copy = storage_.emplace_back(state);
    index_.emplace(copy.id(), &copy);
    order_.push_back({.id = copy.id(), .state = &copy});
  });
}

JobTable& JobTable::operator=(const JobTable& other) {
  if (this != &other) {
    *this = JobTable(other);
  }
  return *this;
}

JobState& JobTable::insert(Job job) {
  const JobId id = job.id;
  RUBATO_CHECK(!index_.contains(id));
  if (unused_.empty()) {
    unused_.push_back(&storage_.emplace_back());
  }
  JobState* state = unused_.back();
  unused_.pop_back();
  *state = JobState{};
  state->job_class = job.job_class;
  state->progress.since = job.arrival;
  state->usage.since = job.arrival;
  state->job = std::move(job);
  index_.emplace(id, state);
  const auto place = std::ranges::lower_bound(order_, id, {}, &Entry::id);
  if (place != order_.end() && place->id == id) {
    place->state = state;
  } else {
    order_.insert(place, Entry{.id = id, .state = state});
  }
  return *state;
}

void JobTable::erase(JobId id) {
  const auto found = index_.find(id);
  RUBATO_CHECK(found != index_.end());
  std::ranges::lower_bound(order_, id, {}, &Entry::id)->state = nullptr;
  unused_.push_back(found->second);
  index_.erase(found);
  if (order_.size() > 16 && index_.size() < order_.size() / 2) {
    sweep();
  }
}

void JobTable::sweep() {
  std::erase_if(order_, [](const Entry& entry) { return entry.state == nullptr; });
}

const JobState* JobTable::find(JobId id) const {
  const auto found = index_.find(id);
  return found == index_.end() ? nullptr : found->second;
}

JobState* JobTable::find(JobId id) {
  const auto found = index_.find(id);
  return found == index_.end() ? nullptr : found->second;
}

const JobState& JobTable::at(JobId id) const {
  const JobState* state = find(id);
  RUBATO_CHECK(state != nullptr);
  return *state;
}

JobState& JobTable::at(JobId id) {
  JobState* state = find(id);
  RUBATO_CHECK(state != nullptr);
  return *state;
}

}  // namespace rubato
