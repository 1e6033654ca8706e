// Who is a member of a job's next generation: a pure state machine. It hears what becomes of
// workers and says whom to start, whom to stop and which generation to publish. Training never
// waits for it: members vote among themselves when to switch (see runtime/elastic_worker.h).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <variant>
#include <vector>

#include "rubato/launch/launcher.h"

namespace rubato {

/// A new worker process is needed.
struct StartWorker {
  WorkerId worker{};

  friend bool operator==(const StartWorker&, const StartWorker&) = default;
};

/// A worker is not needed any more: end it.
struct StopWorker {
  WorkerId worker{};

  friend bool operator==(const StopWorker&, const StopWorker&) = default;
};

/// All workers must be told of this generation. One without members ends training between two
/// steps: whoever led writes a snapshot.
struct PublishGeneration {
  std::uint64_t number = 0;
  bool is_forced = false;           // A member is lost or stuck: break off at once.
  bool has_state = false;           // Some member has trained; otherwise resume from a snapshot.
  std::vector<WorkerId> members{};  // In order of rank: those with state first, oldest first.

  friend bool operator==(const PublishGeneration&, const PublishGeneration&) = default;
};

using MembershipCommand = std::variant<StartWorker, StopWorker, PublishGeneration>;
using MembershipCommands = std::vector<MembershipCommand>;

/// Options of a job's membership.
struct MembershipOptions {
  int parked_max = 2;  // Workers kept warm after a shrink.
};

/// The membership of one job. Every call returns what must be done now, in order.
class Membership {
 public:
  explicit Membership(MembershipOptions options = {}) : options_(options) {}

  /// Zero: nobody trains any more, see `is_idle`.
  [[nodiscard]] MembershipCommands set_target(int workers) { return set_target(workers, {}); }
  /// Likewise, where these workers must go whatever the target: others take over from them.
  [[nodiscard]] MembershipCommands set_target(int workers, std::set<WorkerId> leaving);
  /// The worker could train: it has loaded and warmed up.
  [[nodiscard]] MembershipCommands on_warm(WorkerId worker);
  [[nodiscard]] MembershipCommands on_entered(WorkerId worker, std::uint64_t generation);
  [[nodiscard]] MembershipCommands on_parked(WorkerId worker, std::uint64_t generation);
  /// A collective of a generation failed for a live worker, perhaps the one that enters it.
  [[nodiscard]] MembershipCommands on_broken(WorkerId worker, std::uint64_t generation,
                                             bool is_entering);
  /// The process has ended, whatever the reason, and can write to no memory any more.
  [[nodiscard]] MembershipCommands on_lost(WorkerId worker);
  /// Go on with whoever is warm; the rest may join later.
  [[nodiscard]] MembershipCommands hurry();

  [[nodiscard]] int target() const { return target_; }
  [[nodiscard]] std::uint64_t generation() const { return latest_.number; }
  [[nodiscard]] const std::vector<WorkerId>& members() const { return latest_.members; }
  /// True if all members of the latest generation train in it.
  [[nodiscard]] bool is_settled() const;
  /// True if the target is zero and no worker can commit a step any more.
  [[nodiscard]] bool is_idle() const;
  /// True if the worker waits to be used again.
  [[nodiscard]] bool is_parked(WorkerId worker) const;
  [[nodiscard]] bool is_waiting_for_newcomers() const;

 private:
  enum class Stage { Starting, Warm, Member, Parked };
  struct Worker {
    Stage stage = Stage::Starting;
    std::uint64_t entered = 0;  // The last generation it trained in.
    bool may_train = false;     // A member of a generation that it may be in.
  };

  [[nodiscard]] std::vector<WorkerId> holders() const;
  [[nodiscard]] std::vector<WorkerId> ready() const;
  [[nodiscard]] std::vector<WorkerId> chosen() const;
  [[nodiscard]] std::vector<WorkerId> anchored(std::vector<WorkerId> members) const;
  [[nodiscard]] MembershipCommands decide(bool is_hurried);
  void forget_who_trained();
  void publish(std::vector<WorkerId> members, bool is_forced, MembershipCommands& commands);
  void force(MembershipCommands& commands);
  void adjust_starts(int missing, MembershipCommands& commands);
  void trim_parked(const std::vector<WorkerId>& wanted, MembershipCommands& commands);

  MembershipOptions options_;
  int target_ = 0;
  std::set<WorkerId> leaving_;
  std::uint64_t next_worker_ = 1;
  std::map<WorkerId, Worker> workers_;
  PublishGeneration latest_;
  std::set<WorkerId> overlap_;  // In every generation since the last one that all have entered.
};

}  // namespace rubato
