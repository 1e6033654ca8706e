// What all gang policies share: verdicts, who waits and who runs, when the next round is.
//
// A gang policy runs a job on a fixed number of GPUs or not at all; it decides only the order.
// Everyone who can run somewhere is admitted, without a promise. With several pools a job takes the
// first that has room when its turn comes, the one in which it is fastest ahead of the others, and
// stays there while it runs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rubato/policy/policy.h"
#include "rubato/policy/rounds/gang.h"
#include "rubato/policy/rounds/round_timer.h"
#include "rubato/policy/saved_state.h"

namespace rubato::policy::rounds {

/// Its state is the last round; who waits and runs is a cache, read anew from the first view.
class GangPolicy : public Policy {
 public:
  [[nodiscard]] Traits traits() const override {
    return Traits{.resizes = false, .promises = false, .artifact_charge = ArtifactCharge::OnStart};
  }
  [[nodiscard]] Decision on(const Event& event, const View& view) final;
  [[nodiscard]] std::string save() const override;
  [[nodiscard]] Status load(std::string_view state) final;

 protected:
  /// The job was admitted; or the cache is read anew, and the job may be running already.
  virtual void joins(const JobState& job, const View& view) = 0;
  /// A fault has stopped the job.
  virtual void loses_workers(const JobState& job, const View& view) = 0;
  /// The job is over. It is no member if it ended just after load().
  virtual void leaves(JobId job, Outcome outcome) = 0;
  /// A report may have changed the job's speed.
  virtual void measured(const JobState& /*job*/, const View& /*view*/) {}
  /// Starts and stops jobs.
  virtual void hold_round(const View& view, Decision& decision) = 0;
  /// Whether the event just handled calls for a round.
  [[nodiscard]] virtual bool needs_round() const { return waiting_ > 0; }
  /// When to hold a round though nothing happens; asked after every event.
  [[nodiscard]] virtual Instant next_change(const View& /*view*/) const { return kNever; }
  /// Takes back one line that save() of the derived class appended.
  [[nodiscard]] virtual Status restore(const SavedLine& line) { return unexpected(line); }
  /// Forgets all jobs and all that restore() brought.
  virtual void clear() = 0;

  /// `where` is one of the job's choices.
  void start(JobId job, const Gang& where, Decision& decision);
  void stop(JobId job, Decision& decision);
  /// A running job goes on in another pool.
  void move(JobId job, const Gang& where, Decision& decision);

  /// Where the job runs; while it waits, where it would like best to.
  [[nodiscard]] const Gang& gang(JobId job) const { return members_.at(job).gang; }
  /// Where it may run, best first.
  [[nodiscard]] const std::vector<Gang>& choices(JobId job) const {
    return members_.at(job).choices;
  }
  /// The first of its choices that has room now; null if none has.
  [[nodiscard]] const Gang* room_for(JobId job, const View& view) const;
  [[nodiscard]] bool is_running(JobId job) const { return members_.at(job).runs; }
  [[nodiscard]] bool is_member(JobId job) const { return members_.contains(job); }
  [[nodiscard]] int gpus_used(PoolId pool) const { return used_.at(pool.value); }

 private:
  struct Member {
    std::vector<Gang> choices{};  // At least one.
    Gang gang{};
    bool runs = false;
  };

  void rebuild(const View& view);
  void set_running(Member& member, bool runs);
  [[nodiscard]] Verdict judge(const JobState& job, const View& view);
  void remove(const Completion& completion);
  bool was_stopped(const JobState& job, const View& view);
  static void seat(Member& member, PoolId pool);

  RoundTimer timer_;
  bool is_stale_ = true;
  // Who ran when the state was saved, and in which pool.
  std::optional<std::map<JobId, PoolId>> loaded_running_;
  std::unordered_map<JobId, Member> members_;  // Looked up, never walked for a decision.
  std::vector<int> used_;                      // GPUs of running jobs, per pool.
  std::size_t waiting_ = 0;
};

}  // namespace rubato::policy::rounds
