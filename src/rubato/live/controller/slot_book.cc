#include "rubato/live/controller/slot_book.h"

#include <algorithm>

namespace rubato {

namespace {

void add_slot(SlotRef slot, wire::SavedSlot& to) {
  to.set_node(slot.node.value);
  to.set_index(slot.index);
}

SlotRef slot_of(const wire::SavedSlot& from) {
  return {.node = NodeId{from.node()}, .index = from.index()};
}

}  // namespace

bool SlotBook::Seats::is_served() const {
  std::map<NodeId, int> counts;
  for (const SlotRef& slot : ordered) {
    ++counts[slot.node];
  }
  return counts == wanted;
}

void SlotBook::note(JobId job, const Seats& seats) {
  if (seats.is_served()) {
    unserved_.erase(job);
  } else {
    unserved_.insert(job);
  }
}

void SlotBook::add_node(int slots, int site) {
  slots_.push_back(slots);
  sites_.push_back(site);
  lost_.push_back(false);
}

// Whether the job is on one site and wanted on another.
bool SlotBook::is_to_leave(const Seats& seats) const {
  if (seats.wanted.empty()) {
    return false;
  }
  const int site = sites_.at(seats.wanted.begin()->first.value);
  return std::ranges::any_of(seats.owned, [&](const SlotRef& slot) {
    return sites_.at(slot.node.value) != site && !lost_.at(slot.node.value);
  });
}

void SlotBook::want(JobId job, std::span<const NodeShare> nodes) {
  if (nodes.empty() && !jobs_.contains(job)) {
    return;
  }
  Seats& seats = jobs_[job];
  seats.wanted.clear();
  for (const NodeShare& share : nodes) {
    if (share.workers > 0) {
      seats.wanted[share.node] += share.workers;
    }
  }
  note(job, seats);
}

std::optional<SlotSet> SlotBook::order(JobId job) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) {
    return std::nullopt;
  }
  Seats& seats = found->second;
  SlotSet kept;
  SlotSet taken;
  bool is_short = false;
  for (const auto& [node, wanted] : seats.wanted) {
    int missing = wanted;
    // What it trains on already comes first: no worker moves without need.
    for (const SlotSet* from : {&seats.ordered, &seats.owned}) {
      for (const SlotRef& slot : *from) {
        if (missing > 0 && slot.node == node && seats.owned.contains(slot)) {
          missing -= kept.insert(slot).second ? 1 : 0;
        }
      }
    }
    for (int index = 0; missing > 0 && index < slots_.at(node.value); ++index) {
      const SlotRef slot{.node = node, .index = index};
      if (is_free(slot)) {
        taken.insert(slot);
        --missing;
      }
    }
    is_short = is_short || missing > 0;
  }
  SlotSet next = kept;
  if (is_to_leave(seats)) {
    next.clear();
  } else if (is_short) {
    // It waits with what it may keep of that which it was ordered to use.
    std::erase_if(next, [&](const SlotRef& slot) { return !seats.ordered.contains(slot); });
  } else {
    next.insert(taken.begin(), taken.end());
  }
  if (next == seats.ordered) {
    return std::nullopt;
  }
  for (const SlotRef& slot : next) {
    owners_.insert_or_assign(slot, job);
    seats.owned.insert(slot);
  }
  seats.ordered = next;
  note(job, seats);
  return next;
}

void SlotBook::hold(JobId job, const SlotSet& held) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) {
    return;
  }
  Seats& seats = found->second;
  std::erase_if(seats.owned, [&](const SlotRef& slot) {
    const bool is_given_back = !held.contains(slot) && !seats.ordered.contains(slot);
    if (is_given_back) {
      owners_.erase(slot);
    }
    return is_given_back;
  });
}

void SlotBook::claim(JobId job, const SlotSet& found) {
  const auto known = jobs_.find(job);
  if (known == jobs_.end()) {
    return;
  }
  for (const SlotRef& slot : found) {
    const bool exists =
        slot.node.value < slots_.size() && slot.index >= 0 && slot.index < slots_[slot.node.value];
    if (exists && is_free(slot)) {
      owners_.emplace(slot, job);
      known->second.owned.insert(slot);
    }
  }
}

void SlotBook::release(JobId job) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) {
    return;
  }
  for (const SlotRef& slot : found->second.owned) {
    owners_.erase(slot);
  }
  found->second.owned.clear();
  found->second.ordered.clear();
  note(job, found->second);
}

void SlotBook::forget(JobId job) {
  release(job);
  jobs_.erase(job);
  unserved_.erase(job);
}

std::vector<wire::SavedSeats> SlotBook::save() const {
  std::vector<wire::SavedSeats> saved;
  for (const auto& [job, seats] : jobs_) {
    wire::SavedSeats& to = saved.emplace_back();
    to.set_job(job.value);
    for (const auto& [node, workers] : seats.wanted) {
      add_slot({.node = node, .index = workers}, *to.add_wanted());
    }
    for (const SlotRef& slot : seats.owned) {
      add_slot(slot, *to.add_owned());
    }
    for (const SlotRef& slot : seats.ordered) {
      add_slot(slot, *to.add_ordered());
    }
  }
  return saved;
}

void SlotBook::load(const wire::SavedSeats& saved) {
  const JobId job{saved.job()};
  Seats& seats = jobs_[job];
  for (const wire::SavedSlot& wanted : saved.wanted()) {
    seats.wanted[NodeId{wanted.node()}] = wanted.index();
  }
  for (const wire::SavedSlot& slot : saved.owned()) {
    seats.owned.insert(slot_of(slot));
    owners_.insert_or_assign(slot_of(slot), job);
  }
  for (const wire::SavedSlot& slot : saved.ordered()) {
    seats.ordered.insert(slot_of(slot));
  }
  note(job, seats);
}

SlotSet SlotBook::owned(JobId job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? SlotSet{} : found->second.owned;
}

SlotSet SlotBook::ordered(JobId job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? SlotSet{} : found->second.ordered;
}

int SlotBook::wanted(JobId job) const {
  int wanted = 0;
  if (const auto found = jobs_.find(job); found != jobs_.end()) {
    for (const auto& [node, workers] : found->second.wanted) {
      wanted += workers;
    }
  }
  return wanted;
}

std::optional<JobId> SlotBook::owner(SlotRef slot) const {
  const auto found = owners_.find(slot);
  return found == owners_.end() ? std::nullopt : std::optional(found->second);
}

bool SlotBook::is_releasing(SlotRef slot) const {
  const auto job = owner(slot);
  return job && !jobs_.at(*job).ordered.contains(slot);
}

std::vector<JobId> SlotBook::waiting() const { return {unserved_.begin(), unserved_.end()}; }

}  // namespace rubato
