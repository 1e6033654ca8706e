#include "rubato/runtime/script/replica_watch.h"

#include <algorithm>
#include <csignal>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace rubato::runtime::script {
namespace {

// The C library of Debian 12 declares the calls for these in a way that C++ cannot link.
Descriptor process_descriptor(pid_t pid) {
  return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

bool process_has_ended(const Descriptor& process) {
  pollfd ready{.fd = process.get(), .events = POLLIN, .revents = 0};
  return ::poll(&ready, 1, 0) == 1;
}

}  // namespace

void ReplicaWatch::set(std::span<const pid_t> pids, Moment now) {
  std::vector<Replica> known = std::exchange(replicas_, {});
  for (const pid_t pid : pids) {
    const auto found = std::ranges::find(known, pid, &Replica::pid);
    if (found != known.end() && !process_has_ended(found->process)) {
      replicas_.push_back(std::move(*found));
    } else if (Descriptor process = process_descriptor(pid);
               process.is_open() && !process_has_ended(process)) {
      replicas_.push_back({.pid = pid, .process = std::move(process)});
    }
  }
  set_deadline(now);
}

void ReplicaWatch::allow(int workers, Moment now) {
  workers_max_ = workers;
  set_deadline(now);
}

// A grace that runs already goes on.
void ReplicaWatch::set_deadline(Moment now) {
  const auto alive = std::ranges::count(replicas_, false, &Replica::is_killed);
  if (alive < workers_max_) {
    deadline_.reset();
  } else if (!deadline_) {
    deadline_ = now + grace_;
  }
}

void ReplicaWatch::enforce(Moment now) {
  if (!deadline_ || now < *deadline_) {
    return;
  }
  deadline_.reset();
  for (auto index = static_cast<std::size_t>(std::max(0, workers_max_ - 1));
       index < replicas_.size(); ++index) {
    Replica& replica = replicas_[index];
    replica.is_killed = true;
    ::syscall(SYS_pidfd_send_signal, replica.process.get(), SIGKILL, nullptr, 0);
  }
}

std::vector<int> ReplicaWatch::dying() const {
  std::vector<int> found;
  for (const Replica& replica : replicas_) {
    if (replica.is_killed) {
      found.push_back(replica.process.get());
    }
  }
  return found;
}

std::vector<int> ReplicaWatch::descriptors() const {
  std::vector<int> found;
  for (const Replica& replica : replicas_) {
    found.push_back(replica.process.get());
  }
  return found;
}

bool ReplicaWatch::collect() {
  return std::erase_if(replicas_, [](const Replica& replica) {
           return replica.is_killed && process_has_ended(replica.process);
         }) > 0;
}

}  // namespace rubato::runtime::script
