#include "rubato/launch/membership.h"

#include <algorithm>
#include <utility>

namespace rubato {

bool Membership::is_settled() const {
  if (latest_.members.empty()) {
    return std::ranges::all_of(workers_, [](const auto& entry) {
      return !entry.second.may_train || entry.second.stage == Stage::Parked;
    });
  }
  return std::ranges::all_of(latest_.members, [&](WorkerId id) {
    const auto found = workers_.find(id);
    return found != workers_.end() && found->second.entered == latest_.number;
  });
}

bool Membership::is_idle() const { return target_ == 0 && latest_.members.empty() && is_settled(); }

bool Membership::is_parked(WorkerId worker) const {
  const auto found = workers_.find(worker);
  return found != workers_.end() && found->second.stage == Stage::Parked &&
         !found->second.may_train;
}

bool Membership::is_waiting_for_newcomers() const {
  return std::ranges::any_of(
      workers_, [](const auto& entry) { return entry.second.stage == Stage::Starting; });
}

// Workers that may have the newest state, whether or not we have heard so: those who surely train
// come first. A step may be committed on one of them alone.
std::vector<WorkerId> Membership::holders() const {
  std::vector<WorkerId> found;
  for (const bool is_sure : {true, false}) {
    for (const auto& [id, worker] : workers_) {
      if (worker.may_train && (worker.stage == Stage::Member) == is_sure) {
        found.push_back(id);
      }
    }
  }
  return found;
}

// Workers without the present state that can be members at once. Those that trained before come
// first: everything of theirs is warm.
std::vector<WorkerId> Membership::ready() const {
  std::vector<WorkerId> found;
  for (const Stage stage : {Stage::Parked, Stage::Warm}) {
    for (const auto& [id, worker] : workers_) {
      if (worker.stage == stage && !worker.may_train) {
        found.push_back(id);
      }
    }
  }
  return found;
}

// Holders that may stay, anchors before all others, and newcomers beside them.
std::vector<WorkerId> Membership::chosen() const {
  const auto target = static_cast<std::size_t>(target_);
  std::vector<WorkerId> found = holders();
  std::stable_partition(found.begin(), found.end(),
                        [&](WorkerId id) { return overlap_.contains(id); });
  std::erase_if(found, [&](WorkerId id) { return leaving_.contains(id); });
  if (found.size() > target) {
    found.resize(target);
  }
  for (const WorkerId id : ready()) {
    if (found.size() < target && std::ranges::count(found, id) == 0 && !leaving_.contains(id)) {
      found.push_back(id);
    }
  }
  return found;
}

// Any generation since the last one that all have entered may be training although we have not
// heard so. One who is a member of all of them must be in the next, or there would be two groups
// that know nothing of each other: if all who are chosen are new, one of those who leave stays
// until they have met.
std::vector<WorkerId> Membership::anchored(std::vector<WorkerId> members) const {
  const bool has_anchor =
      std::ranges::any_of(members, [&](WorkerId id) { return overlap_.contains(id); });
  if (target_ > 0 && !overlap_.empty() && !has_anchor) {
    members.insert(members.begin(), *overlap_.begin());
  }
  return members;
}

void Membership::publish(std::vector<WorkerId> members, bool is_forced,
                         MembershipCommands& commands) {
  const bool has_state = std::ranges::any_of(
      members, [&](WorkerId id) { return workers_.at(id).stage == Stage::Member; });
  latest_ = PublishGeneration{.number = latest_.number + 1,
                              .is_forced = is_forced,
                              .has_state = has_state,
                              .members = std::move(members)};
  if (is_forced) {
    overlap_ = {latest_.members.begin(), latest_.members.end()};  // All others are broken off.
  }
  std::erase_if(overlap_,
                [&](WorkerId id) { return std::ranges::count(latest_.members, id) == 0; });
  for (const WorkerId id : latest_.members) {
    workers_.at(id).may_train = true;
  }
  commands.emplace_back(latest_);
}

// All who may have the newest state go on together, those who are to leave included.
void Membership::force(MembershipCommands& commands) {
  std::vector<WorkerId> members = holders();
  const bool is_sure = std::ranges::any_of(
      members, [&](WorkerId id) { return workers_.at(id).stage == Stage::Member; });
  if (!is_sure) {
    // The state of one who has left may be newer than the snapshot.
    for (const auto& [id, worker] : workers_) {
      if (worker.stage != Stage::Starting && !worker.may_train) {
        members.push_back(id);
      }
    }
  }
  if (!members.empty()) {
    publish(std::move(members), true, commands);
  }
}

void Membership::adjust_starts(int missing, MembershipCommands& commands) {
  std::vector<WorkerId> starting;
  std::vector<WorkerId> misplaced;
  for (const auto& [id, worker] : workers_) {
    if (worker.stage == Stage::Starting) {
      (leaving_.contains(id) ? misplaced : starting).push_back(id);
    }
  }
  for (const WorkerId id : misplaced) {
    workers_.erase(id);
    commands.emplace_back(StopWorker{.worker = id});
  }
  for (int surplus = static_cast<int>(starting.size()) - missing; surplus > 0; --surplus) {
    workers_.erase(starting.back());
    commands.emplace_back(StopWorker{.worker = starting.back()});
    starting.pop_back();
  }
  for (int lack = missing - static_cast<int>(starting.size()); lack > 0; --lack) {
    const WorkerId id{next_worker_++};
    workers_[id] = Worker{};
    commands.emplace_back(StartWorker{.worker = id});
  }
}

// Beyond the few that are kept warm, those without use end; the oldest are kept. Whoever must go is
// not kept at all.
void Membership::trim_parked(const std::vector<WorkerId>& wanted, MembershipCommands& commands) {
  std::vector<WorkerId> idle;
  for (const WorkerId id : ready()) {
    if (std::ranges::count(latest_.members, id) + std::ranges::count(wanted, id) == 0) {
      idle.push_back(id);
    }
  }
  std::stable_partition(idle.begin(), idle.end(),
                        [&](WorkerId id) { return !leaving_.contains(id); });
  while (!idle.empty() &&
         (static_cast<int>(idle.size()) > options_.parked_max || leaving_.contains(idle.back()))) {
    workers_.erase(idle.back());
    commands.emplace_back(StopWorker{.worker = idle.back()});
    idle.pop_back();
  }
}

MembershipCommands Membership::decide(bool is_hurried) {
  MembershipCommands commands;
  const std::vector<WorkerId> staying = chosen();
  adjust_starts(target_ - static_cast<int>(staying.size()), commands);
  const bool is_complete = staying.size() == static_cast<std::size_t>(target_) || is_hurried;
  const std::vector<WorkerId> wanted = anchored(staying);
  auto sorted = wanted;
  auto present = latest_.members;
  std::ranges::sort(sorted);
  std::ranges::sort(present);
  const bool is_same = sorted == present && !latest_.members.empty();
  // After a loss, and where nobody had state, nobody is left out before all have met.
  const bool is_meeting = !is_settled() && (latest_.is_forced || !latest_.has_state);
  const bool is_ending = target_ == 0 && !latest_.members.empty();
  if (is_complete && (!wanted.empty() || is_ending) && !is_same && !is_meeting) {
    publish(wanted, false, commands);
  }
  if (is_settled()) {
    trim_parked(wanted, commands);
  }
  return commands;
}

MembershipCommands Membership::set_target(int workers, std::set<WorkerId> leaving) {
  target_ = workers;
  leaving_ = std::move(leaving);
  return decide(false);
}

MembershipCommands Membership::on_warm(WorkerId worker) {
  const auto found = workers_.find(worker);
  if (found == workers_.end() || found->second.stage != Stage::Starting) {
    return {};
  }
  found->second.stage = Stage::Warm;
  return decide(false);
}

MembershipCommands Membership::on_entered(WorkerId worker, std::uint64_t generation) {
  const auto found = workers_.find(worker);
  if (found == workers_.end()) {
    return {};
  }
  found->second.stage = Stage::Member;
  found->second.entered = std::max(found->second.entered, generation);
  if (!is_settled()) {
    return {};
  }
  forget_who_trained();
  return decide(false);
}

// All have met: whoever is no member can have committed nothing that the members have not.
void Membership::forget_who_trained() {
  overlap_ = {latest_.members.begin(), latest_.members.end()};
  for (auto& [id, worker] : workers_) {
    worker.may_train = std::ranges::count(latest_.members, id) > 0;
  }
}

MembershipCommands Membership::on_parked(WorkerId worker, std::uint64_t generation) {
  const auto found = workers_.find(worker);
  // Published again in the meantime: it will see that generation and come back.
  if (found == workers_.end() || generation < latest_.number) {
    return {};
  }
  // It keeps its state: until the others have met, it may be the only one that has the last step.
  found->second.stage = Stage::Parked;
  if (is_settled()) {
    forget_who_trained();
  }
  return decide(false);
}

MembershipCommands Membership::on_broken(WorkerId worker, std::uint64_t generation,
                                         bool is_entering) {
  MembershipCommands commands;
  // Nobody has trained in a generation that could not be entered, so any newer one will do.
  const bool is_answered = latest_.number > generation && (latest_.is_forced || is_entering);
  if (workers_.contains(worker) && !is_answered) {
    force(commands);
  }
  return commands;
}

MembershipCommands Membership::on_lost(WorkerId worker) {
  const auto found = workers_.find(worker);
  if (found == workers_.end()) {
    return {};
  }
  const bool is_missed = found->second.may_train;
  workers_.erase(found);
  MembershipCommands commands;
  if (is_missed) {
    force(commands);
    if (commands.empty()) {
      // Nobody is left who has trained: whoever is ready starts over from the newest snapshot.
      latest_ = PublishGeneration{.number = latest_.number};
      overlap_.clear();
    }
  }
  MembershipCommands more = decide(false);
  commands.insert(commands.end(), more.begin(), more.end());
  return commands;
}

MembershipCommands Membership::hurry() { return decide(true); }

}  // namespace rubato
