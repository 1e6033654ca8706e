#include "rubato/launch/script/replica_roster.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "rubato/launch/process/pidfd.h"
#include "rubato/launch/process/process_file.h"

namespace rubato::launch::script {
namespace {

// The parent of a process; 0 if there is no such process. It may end while we read.
pid_t parent_of(pid_t pid) {
  const std::string text = process_file(pid, "stat");
  const std::size_t name_end = text.rfind(") ");
  if (name_end == std::string::npos) {
    return 0;
  }
  std::istringstream fields(text.substr(name_end + 2));
  char state = 0;
  pid_t parent = 0;
  fields >> state >> parent;
  return parent;
}

// Looked at after the descriptor was opened: if the parent is right then, so is the descriptor.
Descriptor child_descriptor(pid_t pid, pid_t parent) {
  Descriptor process = open_pidfd(pid);
  return process.is_open() && parent_of(pid) == parent ? std::move(process) : Descriptor{};
}

}  // namespace

RosterChange ReplicaRoster::set_leader(WorkerId leader) {
  RosterChange change{.joined = {leader}};
  for (const Replica& replica : std::exchange(replicas_, {})) {
    change.left.push_back(replica.worker);
  }
  leader_ = leader;
  return change;
}

RosterChange ReplicaRoster::set_replicas(std::span<const pid_t> pids, pid_t leader) {
  RosterChange change;
  std::vector<Replica> known = std::exchange(replicas_, {});
  for (const pid_t pid : pids) {
    const auto found = std::ranges::find(known, pid, &Replica::pid);
    if (found != known.end()) {
      replicas_.push_back(std::move(*found));
      known.erase(found);
    } else {
      replicas_.push_back(
          {.worker = next_name(), .pid = pid, .process = child_descriptor(pid, leader)});
      change.joined.push_back(replicas_.back().worker);
    }
  }
  for (const Replica& gone : known) {
    change.left.push_back(gone.worker);
  }
  return change;
}

std::vector<WorkerId> ReplicaRoster::members() const {
  std::vector<WorkerId> members{leader_};
  for (const Replica& replica : replicas_) {
    members.push_back(replica.worker);
  }
  return members;
}

bool ReplicaRoster::signal(WorkerId replica, int signal) const {
  const auto found = std::ranges::find(replicas_, replica, &Replica::worker);
  return found != replicas_.end() && found->process.is_open() &&
         signal_pidfd(found->process.get(), signal);
}

}  // namespace rubato::launch::script
