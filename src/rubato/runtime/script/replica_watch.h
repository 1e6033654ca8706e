// The processes of a leader's replicas, and the end of those that are too many when the leader
// itself does not come to it: a script may be outside of its model for minutes, and the slots that
// were taken from it are wanted now.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <sys/types.h>
#include <vector>

#include "rubato/base/time.h"
#include "rubato/wire/descriptor.h"

namespace rubato::runtime::script {

/// How long a leader has to end replicas that are too many by itself.
inline constexpr Duration kShrinkGrace = std::chrono::milliseconds(250);

/// Not safe for threads: its owner locks. Processes are held by descriptors, so that a number that
/// means another process by now is never signalled.
class ReplicaWatch {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  explicit ReplicaWatch(Duration grace = kShrinkGrace) : grace_(grace) {}

  /// These are the replicas, the oldest first. Must be called before the caller waits for one of
  /// the processes. Those that have ended already are left out.
  void set(std::span<const pid_t> pids, Moment now);
  /// At most so many workers may compute, the leader among them.
  void allow(int workers, Moment now);

  [[nodiscard]] int count() const { return static_cast<int>(replicas_.size()); }
  /// When `enforce` will have something to do.
  [[nodiscard]] std::optional<Moment> deadline() const { return deadline_; }
  /// Kills the youngest of those that are too many, if the grace is over.
  void enforce(Moment now);
  /// To poll for reading: processes that were killed here and have not ended yet.
  [[nodiscard]] std::vector<int> dying() const;
  /// Forgets those among them that have ended; true if there were any.
  [[nodiscard]] bool collect();
  /// Of all replicas.
  [[nodiscard]] std::vector<int> descriptors() const;

 private:
  struct Replica {
    pid_t pid = 0;
    Descriptor process{};
    bool is_killed = false;
  };

  void set_deadline(Moment now);

  Duration grace_;
  std::vector<Replica> replicas_{};
  int workers_max_ = 1;
  std::optional<Moment> deadline_{};
};

}  // namespace rubato::runtime::script
