// Runs a job whose script is executed once, by one process: the leader, which forks replicas for
// the work of its model and says how many it has. Starts the leader, watches it, tells it how many
// workers to use, keeps its snapshots, and starts it again from the newest one when it dies.
//
// A leader is silent if it sends no heartbeat; its heartbeats come from a thread that does not need
// Python, so a long computation is not silence. One that closes its line may come back under its
// name within `reconnect_patience`: a copy of the process that has taken its place does that.
//
// How a job ends: with exit code 0 it is finished; any other exit code is the script's own word and
// the job's exit code, and the script is not started again for it unless `error_exits_max` says so.
// Death by a signal, by lack of memory or by silence starts the script again, up to the limits
// below. A script that ends with exit code 0 and has taken fewer steps than were declared is
// finished, and the reason says so; if steps were declared and it took none at all, it has failed.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/launch/script/replica_roster.h"
#include "rubato/launch/snapshot_keeper.h"
#include "rubato/launch/training_run.h"
#include "rubato/wire/script.pb.h"
#include "rubato/wire/unix_channel.h"

namespace rubato::launch::script {

/// Of script.proto, as this side speaks it.
inline constexpr std::uint32_t kScriptProtocol = 1;

/// Steps after which a script that has not answered an order does not make use of it.
inline constexpr std::uint64_t kUnansweredSteps = 2;

/// What to run and how patient to be.
struct ScriptRunOptions {
  std::vector<std::string> command{};
  Environment environment{};  // Of the leader, without what tells it of us.
  std::string working_directory{};
  std::string directory{};  // For the socket and the snapshots; must exist.
  int workers = 1;
  std::uint64_t seed = 1;
  std::uint64_t steps_declared = 0;  // By the user, for the whole job; 0: none.
  std::string until{};               // The rule that ends the job early.
  std::uint32_t snapshot_steps = 0;
  std::vector<std::uint64_t> milestones{};
  bool keeps_snapshots = false;  // On disk, also where none are written by themselves.
  Duration heartbeat = std::chrono::milliseconds(100);
  Duration patience = std::chrono::seconds(5);        // Without a heartbeat: the leader hangs.
  Duration start_patience = std::chrono::minutes(5);  // Until its first word.
  Duration reconnect_patience = std::chrono::seconds(2);
  Duration exit_patience = std::chrono::seconds(10);     // With one that was told to leave.
  Duration suspend_patience = std::chrono::seconds(60);  // With a step that does not end.
  int error_exits_max = 1;  // Exits with a code of the script's own, in a row.
  int failures_max = 3;     // Other deaths by its own fault, without a new step between them.
  int kills_max = 30;       // By others than us or the script, likewise.
};

/// One job. Used from one thread, which turns its loop.
class ScriptRun final : public TrainingRun {
 public:
  [[nodiscard]] static Result<std::unique_ptr<ScriptRun>> open(ScriptRunOptions options,
                                                               Launcher& launcher,
                                                               TrainingRunEvents events);

  using TrainingRun::resize;
  using TrainingRun::turn;
  [[nodiscard]] bool turn(Duration wait, std::span<const int> also) override;
  /// A leader that is leaving is started again, from its newest snapshot.
  void resize(int workers, std::set<WorkerId> leaving) override;
  void suspend(const std::string& reason) override;
  /// As `suspend`, but the process stays with all that the script has in memory, holding neither
  /// replicas nor a slot, until `resize`. A script that does not come to a step within
  /// `suspend_patience` is stopped where it is (SIGSTOP).
  void park();
  void snapshot_now() override;
  /// A replica's process, or the leader's: not those that the leader has started itself.
  [[nodiscard]] Status signal(WorkerId worker, int signal) override;
  void stop(const std::string& reason) override;
  /// The script is asked to end between two steps, in its own time.
  void end_early(const std::string& reason) override;

  [[nodiscard]] std::optional<WorkerId> worker_at(int rank) const override;
  [[nodiscard]] const JobTimeline& timeline() const override { return timeline_; }
  [[nodiscard]] std::uint64_t step() const override { return known_step_; }
  [[nodiscard]] int workers_training() const override;
  [[nodiscard]] bool has_resized() const override;
  [[nodiscard]] int slots_held() const override;
  /// True while nothing of the script runs because of `park`.
  [[nodiscard]] bool is_parked() const {
    return rest_ == Rest::Parking && (!leader_ || leader_->is_suspended);
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// The process that runs the script.
  struct Leader {
    WorkerId worker{};
    std::optional<UnixChannel> channel{};
    std::uint64_t connection = 0;  // Number of the channel, over all leaders.
    Descriptor process{};          // Of the one that said hello; a descriptor of its pid.
    pid_t pid = 0;
    Clock::time_point heard{};  // At first: when it was started.
    bool has_spoken = false;
    std::optional<Clock::time_point> cut_off{};  // Since when it has no line.
    std::optional<ExitStatus> seen_exit{};       // Of the process that said hello.
    std::uint32_t computing = 0;                 // Workers, as it last said.
    bool has_entered = false;                    // It has a first step behind it, or replicas.
    bool is_suspended = false;
    bool is_frozen = false;    // By SIGSTOP, because it did not stop by itself.
    bool is_finished = false;  // It has said so, and may take its time to leave.
    bool is_overdue = false;   // It was killed because it had never said a word.
    std::string verdict{};     // Why we have killed it, if we have.
    std::optional<Clock::time_point> told_to_exit{};
    std::size_t record = 0;  // In the timeline.
  };

  /// What was asked of the script last.
  struct Order {
    std::uint64_t number = 1;
    int workers = 1;
    Clock::time_point given{};
    std::string cause{};
    std::uint64_t step = 0;  // Committed when it was given.
    bool is_answered = false;
    bool is_settled = false;  // Answered, or not made use of by the steps since.
  };

  enum class Rest { None, Parking, Suspending, Moving };

  ScriptRun(ScriptRunOptions options, Launcher& launcher, TrainingRunEvents events,
            UnixListener listener);

  [[nodiscard]] Duration now() const;
  void start(const std::string& cause, bool is_forced);
  void send(const wire::script::ToScript& message, const std::vector<int>& lent = {});
  void tell_rest();
  void take_connections();
  void accept_hellos();
  [[nodiscard]] bool admit(UnixChannel& channel, const Frame& frame);
  void come_back(const wire::script::Hello& hello);
  void welcome(bool is_first);
  void hear();
  void handle(const wire::script::FromScript& message, std::vector<Descriptor> descriptors);
  void on_resized(const wire::script::Resized& resized);
  void on_alive(const wire::script::Alive& alive);
  void on_suspended(const wire::script::Suspended& suspended);
  void on_finished(const wire::script::Finished& finished);
  void on_profile(const wire::script::Profile& profile);
  void on_metrics(const wire::script::Metrics& metrics);
  void on_memory(const wire::script::Memory& memory);
  void keep_snapshot(const wire::script::SnapshotWritten& written,
                     std::vector<Descriptor> descriptors);
  void note_step(std::uint64_t step);
  void notice(const std::string& key, const std::string& text);
  void say(const std::string& key, const std::string& text);
  void enter(std::uint64_t step, Duration pause);
  void note_roster(const RosterChange& change, const std::string& why);
  void add_generation(const std::string& cause, bool is_forced, Clock::time_point ordered);
  void find_silent();
  void find_cut_off(Clock::time_point moment);
  void kill_leader(const std::string& verdict);
  void look_after_process();
  void rest(Rest rest, const std::string& reason);
  void finish_resting();
  void freeze();
  void thaw();
  void end_leader(const std::string& reason);
  void tell_early_end();
  void on_ended(const WorkerEnd& ended);
  void restart_or_fail(const Leader& leader, const ExitCause& cause, const std::string& words);
  void conclude();
  void fail(JobOutcome outcome, int exit_code, std::string reason);

  ScriptRunOptions options_;
  Launcher& launcher_;
  TrainingRunEvents events_;
  UnixListener listener_;
  SnapshotKeeper snapshots_;
  ReplicaRoster roster_;
  std::uint64_t token_ = 0;
  Clock::time_point began_;
  Clock::time_point last_turn_;

  std::optional<Leader> leader_;                  // While its process runs.
  std::vector<UnixChannel> pending_connections_;  // Connected, not introduced yet.
  std::uint64_t connections_ = 0;
  Order order_;
  std::uint64_t known_step_ = 0;    // Committed, as far as we know.
  std::uint64_t highest_step_ = 0;  // The same, with those that were lost again.
  int error_exits_ = 0;             // Since the last step that was higher than all before.
  int failures_ = 0;                // Likewise.
  int kills_ = 0;                   // Likewise.
  Rest rest_ = Rest::None;          // What the script is to stop for.
  std::string rest_reason_;
  Clock::time_point rest_by_{};
  bool is_winding_down_ = false;
  std::string early_reason_;  // Why the script is asked to end; empty: it is not.
  JobTimeline timeline_;
};

}  // namespace rubato::launch::script
