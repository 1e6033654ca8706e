// Conducts one job on this machine: starts its workers, tells them who is a member, notices who
// dies or hangs, and keeps their snapshots. The harness `rubato train` drives it, and so does the
// agent.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/launch/job_timeline.h"
#include "rubato/launch/launcher.h"
#include "rubato/launch/membership.h"
#include "rubato/launch/snapshot_keeper.h"
#include "rubato/launch/training_run.h"
#include "rubato/wire/unix_channel.h"
#include "rubato/wire/worker.pb.h"

namespace rubato {

/// What to run and how patient to be.
struct ConductorOptions {
  std::vector<std::string> command{};
  Environment environment{};  // Of the workers, without what tells them of this conductor.
  std::string working_directory{};
  std::string directory{};  // For the socket and the snapshots; must exist.
  int workers = 1;
  std::uint64_t seed = 1;
  MembershipOptions membership{};
  Duration heartbeat = std::chrono::milliseconds(100);
  Duration patience = std::chrono::milliseconds(1500);  // Without a heartbeat: the worker hangs.
  // Until its first word: programs load their data before it.
  Duration start_patience = std::chrono::minutes(5);
  Duration exit_patience = std::chrono::seconds(10);  // With one that was told to leave.
  int failures_max = 3;                               // In a row, without a step between them.
  int kills_max = 30;                                 // By others than us or the program, likewise.
  std::uint32_t snapshot_steps = 0;
  std::vector<std::uint64_t> milestones{};
  std::vector<std::string> hosts{};  // Workers sit on these in turn; empty: all on one.
  bool keeps_snapshots = false;      // On disk, also where none are written by themselves.
  Duration suspend_patience = std::chrono::seconds(60);  // With a step that does not end.
};

/// One job. Used from one thread, which turns its loop.
class Conductor final : public TrainingRun {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Conductor>> open(ConductorOptions options,
                                                               Launcher& launcher,
                                                               TrainingRunEvents events);

  using TrainingRun::resize;
  using TrainingRun::turn;
  [[nodiscard]] bool turn(Duration wait, std::span<const int> also) override;
  void resize(int workers, std::set<WorkerId> leaving) override;
  void suspend(const std::string& reason) override;
  /// Rank 0 writes a snapshot after its step.
  void snapshot_now() override;
  /// The worker at a rank of the present generation, if there is one.
  [[nodiscard]] std::optional<WorkerId> worker_at(int rank) const override;
  [[nodiscard]] Status signal(WorkerId worker, int signal) override;
  void stop(const std::string& reason) override;
  void end_early(const std::string& reason) override { suspend(reason); }

  [[nodiscard]] const JobTimeline& timeline() const override { return timeline_; }
  [[nodiscard]] std::uint64_t step() const override { return known_step_; }
  /// Members of the generation that trains; none before the first is entered, or at its end.
  [[nodiscard]] int workers_training() const override;
  [[nodiscard]] bool has_resized() const override {
    return workers_training() == membership_.target();
  }
  [[nodiscard]] int slots_held() const override { return static_cast<int>(occupants().size()); }
  [[nodiscard]] std::vector<WorkerId> occupants() const;
  [[nodiscard]] std::optional<std::uint64_t> snapshot_step() const;

 private:
  using Clock = std::chrono::steady_clock;

  struct Seat {
    std::string host{};
    std::optional<UnixChannel> channel{};
    Descriptor arena{};
    Clock::time_point heard{};  // At first: when it was started.
    std::uint64_t epoch = 0;    // It trains in.
    std::set<WorkerId> met{};   // Whose arenas it has.
    bool is_cut_off = false;    // It has closed its line, or lost it.
    bool is_overdue = false;    // It was killed because it had never said a word.
    std::string verdict{};      // Why we have killed it, if we have.
    bool is_finished = false;
    bool is_told_to_exit = false;
    Clock::time_point told{};
    std::size_t record = 0;  // In the timeline.
  };

  Conductor(ConductorOptions options, Launcher& launcher, TrainingRunEvents events,
            UnixListener listener);

  [[nodiscard]] Duration now() const;
  [[nodiscard]] std::uint64_t epoch() const;
  void carry_out(const MembershipCommands& commands, const std::string& cause);
  void start(WorkerId worker);
  void end(WorkerId worker, const std::string& reason);
  void publish(const PublishGeneration& generation, const std::string& cause);
  void tell(WorkerId worker, const PublishGeneration& generation, const ResumePoint& resume,
            int meeting);
  void send(Seat& seat, const wire::FromConductor& message, const std::vector<int>& lent = {});
  void take_connections();
  void accept_hellos();
  void hear(WorkerId worker);
  void handle(WorkerId worker, const wire::FromWorker& message,
              std::vector<Descriptor> descriptors);
  void welcome(WorkerId worker, const wire::Hello& hello);
  void on_entered(WorkerId worker, const wire::Entered& entered);
  void on_first_step(const wire::FirstStep& first);
  void on_finished(WorkerId worker, const wire::Finished& finished);
  void on_ended(const WorkerEnd& end);
  void on_heartbeat(WorkerId worker, const wire::Heartbeat& heartbeat);
  void keep_snapshot(WorkerId worker, const wire::SnapshotWritten& written,
                     std::vector<Descriptor> descriptors);
  void add_profile(const wire::Profile& profile);
  void note_straggler(const wire::Straggler& straggler);
  void set_in_table(const wire::TableSet& entry);
  void look_up(WorkerId worker, const std::string& key);
  void note_step(std::uint64_t step);
  void find_hung();
  void kill_silent(WorkerId worker, Seat& seat, Clock::time_point moment);
  void find_idle(WorkerId worker, Seat& seat, Clock::time_point moment);
  void finish_suspending();
  void wind_down();
  void fail(JobOutcome outcome, int exit_code, std::string reason);
  [[nodiscard]] GenerationRecord* record_of(std::uint64_t generation);

  ConductorOptions options_;
  Launcher& launcher_;
  TrainingRunEvents events_;
  UnixListener listener_;
  Membership membership_;
  SnapshotKeeper snapshots_;
  std::uint64_t token_ = 0;
  Clock::time_point began_;
  Clock::time_point last_turn_;
  Clock::time_point ordered_;  // When the last resize was asked for.

  std::map<WorkerId, Seat> seats_;
  std::vector<UnixChannel> pending_connections_;  // Connected, not introduced yet.
  std::map<std::string, std::string> table_;
  std::map<std::string, std::set<WorkerId>> table_waits_;
  std::uint64_t entered_generation_ = 0;
  std::uint64_t known_step_ = 0;                      // Committed, as far as we know.
  std::uint64_t highest_step_ = 0;                    // The same, with those that were lost again.
  int failures_ = 0;                                  // Since the last committed step.
  int kills_ = 0;                                     // Likewise.
  std::optional<std::uint64_t> finished_generation_;  // The one that has done the last step.
  Clock::time_point finished_;
  bool is_winding_down_ = false;
  std::optional<Clock::time_point> suspend_by_;  // All workers are to park; then they are ended.
  std::string suspend_reason_;
  JobTimeline timeline_;
};

}  // namespace rubato
