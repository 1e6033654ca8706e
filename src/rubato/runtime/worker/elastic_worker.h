// One worker of an elastic training job. It trains step by step with whoever is a member; the group
// changes between two steps without any worker being restarted.
//
//   begin -> compute gradients into the arena -> reduce -> apply -> commit -> begin ...
//
// Each worker tells in the reduction which newer generation it has built. When all name the same,
// all switch after that step: no extra round, no clock. In the new group the highest step wins, and
// whoever stands elsewhere is handed the state.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/runtime/data/batch_split.h"
#include "rubato/runtime/group/group_builder.h"
#include "rubato/runtime/group/group_inbox.h"
#include "rubato/runtime/shared_memory/arena.h"
#include "rubato/runtime/worker/conductor_link.h"
#include "rubato/runtime/worker/handover.h"
#include "rubato/runtime/worker/snapshot_slots.h"
#include "rubato/runtime/worker/step_observer.h"
#include "rubato/runtime/worker/training_state.h"
#include "rubato/runtime/worker/worker_address.h"
#include "rubato/runtime/worker/worker_pulse.h"

namespace rubato {

/// What the training program says of its data and its gradients.
struct WorkerSetup {
  WorkerAddress address{};
  ArenaLayout layout{};
  EpochCut cut{};
  int shards = 0;  // Fixed number for results that do not depend on the workers; 0: one a rank.
  RemoteJoin join_remote{};  // Empty: one host only.
  // A worker that trains alone then cuts its batch in two, if its arena has two slots.
  bool measures_noise = false;
  std::size_t measured_floats = ~std::size_t{0};  // The rest of a slot is no gradient.
  // Steps between comparisons of the parameters of all ranks, which are also compared on entering a
  // generation and at the end; 0: never.
  int check_every = 0;
};

/// What this worker must do next.
enum class StepKind {
  Train,
  Leave,  // It is not needed any more.
};

/// This worker's part of a step.
struct StepTask {
  StepKind kind = StepKind::Train;
  std::uint64_t generation = 0;
  int rank = 0;
  int size = 1;
  DataCursor cursor{};
  std::uint64_t samples = 0;            // Of all ranks.
  std::span<const StepRange> shards{};  // Of this rank, in order of slot; may be empty ranges.
  std::size_t first_shard = 0;
};

/// What became of a reduction.
enum class ReduceVerdict {
  Apply,  // Slot 0 holds the mean gradient: apply it, then commit.
  Redo,   // The group broke: throw the gradients away and begin again.
};

/// What a worker measured while it computed its gradients.
struct LocalStep {
  double loss = 0;  // Mean over this worker's samples.
  double data_seconds = 0;
  double tag = 0;  // What the others are told of the rest of this worker's state.
};

/// One worker. Used by one thread; it has two more of its own, which never touch the arena.
class ElasticWorker {
 public:
  [[nodiscard]] static Result<std::unique_ptr<ElasticWorker>> join(WorkerSetup setup,
                                                                   TrainingState& state);
  ~ElasticWorker();

  [[nodiscard]] Arena& arena() { return *arena_; }
  /// For whoever looks at the arena for longer than the worker lives.
  [[nodiscard]] std::shared_ptr<Arena> share_arena() const { return arena_; }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  /// The job's epoch when this worker said hello, so that it need not be in the way later.
  [[nodiscard]] std::uint64_t epoch_on_joining() const { return epoch_on_joining_; }

  /// Says that this worker has warmed up; called once, before the first step.
  void warm();
  [[nodiscard]] Result<StepTask> begin();
  [[nodiscard]] Result<ReduceVerdict> reduce(const LocalStep& local);
  /// After a reduction that is to be applied, on all ranks alike: everyone gets the bytes of one.
  /// Redo: the group broke, as in `reduce`.
  [[nodiscard]] Result<ReduceVerdict> copy_from(int rank, std::string& bytes);
  [[nodiscard]] Status commit();
  /// Training is over: everyone has committed the same last step.
  [[nodiscard]] Status finish();
  /// As if the conductor were gone: whatever this worker waits for ends with an error. From any
  /// thread.
  void abandon() { inbox_.end(InboxEnd::ConductorLost); }
  /// The program cannot be made elastic.
  void refuse(const std::string& reason);

  /// Proposed by rank 0 for the steps to come; all take it over after the same step.
  void propose_batch(std::uint64_t batch) { proposed_batch_ = batch; }

  [[nodiscard]] const DataCursor& cursor() const { return cursor_; }
  /// The samples of the step to come. Its epoch may be one further than the cursor's.
  [[nodiscard]] StepRange next_range() const { return step_range(cursor_, setup_.cut); }
  /// Mean loss over all samples of the last reduction.
  [[nodiscard]] double mean_loss() const { return mean_loss_; }
  /// What each rank has told in the last reduction.
  [[nodiscard]] std::vector<double> tags() const;
  [[nodiscard]] const ReduceReport& report() const { return report_; }
  [[nodiscard]] const StepSplit& split() const { return split_; }
  [[nodiscard]] std::uint64_t batch() const { return setup_.cut.batch; }
  [[nodiscard]] std::uint64_t parameter_hash() const;
  /// Never before a worker has the state of its job.
  [[nodiscard]] bool is_leader() const { return link_ == nullptr || (has_state_ && rank_ == 0); }

 private:
  using Clock = std::chrono::steady_clock;

  ElasticWorker(WorkerSetup setup, std::shared_ptr<Arena> arena, TrainingState& state);

  [[nodiscard]] Status train_alone();
  [[nodiscard]] Result<bool> enter();
  [[nodiscard]] Status park(const BuiltGroup& built);
  [[nodiscard]] Status try_entering(const BuiltGroup& group);
  [[nodiscard]] Status agree(Communicator& group, const BuiltGroup& built);
  [[nodiscard]] Status hand_over(Communicator& group, const Handover& handover);
  [[nodiscard]] Status resume(const BuiltGroup& built);
  [[nodiscard]] int shards() const;
  [[nodiscard]] double hash_to_compare() const;
  [[nodiscard]] Status check_parameters() const;
  [[nodiscard]] bool all_vote_for(std::uint64_t generation) const;
  void read_notes();
  void give_up_group(const std::string& cause);
  [[nodiscard]] Status write_snapshot();
  void say_broken(std::uint64_t generation, const std::string& cause, bool is_entering);

  WorkerSetup setup_;
  std::shared_ptr<Arena> arena_;  // Shared with the groups, which outlive a switch on their thread.
  TrainingState& state_;
  std::uint64_t seed_ = 0;
  std::uint64_t epoch_on_joining_ = 0;

  GroupInbox inbox_;
  WorkerPulse pulse_;
  std::unique_ptr<ConductorLink> link_;
  std::unique_ptr<GroupBuilder> builder_;
  SnapshotSlots snapshots_;

  std::shared_ptr<Communicator> group_;  // Null before the first generation and after a failure.
  std::uint64_t generation_ = 0;         // The last one entered, or tried in vain.
  std::uint64_t broken_ = 0;             // The last one that broke while we trained in it.
  int rank_ = 0;
  bool has_state_ = false;
  DataCursor cursor_;
  StepSplit split_;
  std::uint64_t proposed_batch_ = 0;

  ReduceReport report_;
  double mean_loss_ = 0;
  bool is_switching_ = false;
  bool is_first_step_ = false;
  bool is_new_leader_ = false;
  std::int64_t received_bytes_ = 0;
  bool was_source_ = false;
  Clock::time_point last_commit_;
  Clock::time_point step_began_;
  StepTimes times_;
  StepObserver observer_;
};

}  // namespace rubato
