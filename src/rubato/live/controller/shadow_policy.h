// A second scheduler beside the live one: it hears of the same jobs and machines, decides for
// itself, and trains its jobs in a world of its own, where each goes as fast as is known of it.
//
// Nothing it decides is carried out. It works off what happened in order of time, a few events at a
// turn, so that it costs the live platform little; if it is behind, its results are those of the
// moment it has come to. Pure as the engine is: a checkpoint and the same inputs bring it back.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "rubato/base/result.h"
#include "rubato/engine/engine.h"
#include "rubato/engine/record/journal.h"
#include "rubato/wire/journal.pb.h"

namespace rubato {

/// What became of a job in the shadow.
struct ShadowJob {
  Instant submitted{};
  Instant deadline = kNever;
  JobId engine_id{};
  bool is_promised = false;
  bool is_refused = false;
  bool has_left = false;  // Cancelled or failed in the real world.
  Instant finish = kNever;

  [[nodiscard]] bool is_active() const { return !is_refused && !has_left && finish == kNever; }
};

/// What one policy made of the jobs since the shadow began; the live one's is counted alike.
struct PolicyTally {
  int jobs = 0;
  int refused = 0;
  int finished = 0;
  int deadline_jobs = 0;  // With a deadline, and finished or refused.
  int deadlines_met = 0;
  int promises_made = 0;
  int promises_broken = 0;
  double jct_seconds = 0;  // Of all finished jobs together.
  double gpu_seconds_used = 0;
  double gpu_seconds = 0;

  /// Takes in one job as it stands at `now`.
  void add(const ShadowJob& job, Instant now);
  [[nodiscard]] wire::PolicyResult result() const;
};

class ShadowPolicy {
 public:
  /// `engine` has seen no event. All nodes of its topology are up.
  ShadowPolicy(std::string policy, Engine engine, Instant now);

  // What happens in the real world, in order of time.
  /// `job` as an engine would meet it; its id is set here.
  void arrive(Instant now, JobId live, Job job, Instant submitted, Instant deadline);
  void leave(Instant now, JobId live);
  void change_node(Instant now, const NodeChange& change);
  void join(Instant now, const NodeJoin& join);

  /// Works off events up to this moment, at most kEventsPerTurn.
  void advance(Instant to);
  /// When there is something to do again; kNever: not unless something happens.
  [[nodiscard]] Instant next() const;

  [[nodiscard]] const std::string& policy() const { return policy_; }
  [[nodiscard]] Instant since() const { return since_; }
  /// The moment it has come to.
  [[nodiscard]] Instant now() const { return now_; }
  /// It had to be given up: more happens than it can follow.
  [[nodiscard]] bool is_lost() const { return is_lost_; }
  [[nodiscard]] const std::map<JobId, ShadowJob>& jobs() const { return jobs_; }
  [[nodiscard]] PolicyTally tally() const;
  [[nodiscard]] const Engine& engine() const { return engine_; }

  [[nodiscard]] wire::SavedShadow save() const;
  /// Into a shadow that was made as the saved one was.
  [[nodiscard]] Status load(const wire::SavedShadow& from);

  static constexpr int kEventsPerTurn = 8;
  static constexpr std::size_t kPendingMax = 100'000;

 private:
  void post(JournalEvent event);
  void feed(const Event& event);
  void obey(const Commands& commands);
  void carry_out(const Command& command);
  void watch(JobId engine_id);

  std::string policy_;
  Engine engine_;
  Instant since_{};
  Instant now_{};
  Instant wake_ = kNever;
  bool is_lost_ = false;
  std::uint64_t next_id_ = 1;
  std::deque<JournalEvent> pending_;  // Not worked off yet.
  std::map<JobId, ShadowJob> jobs_;
  std::map<JobId, JobId> names_;                  // From the engine's to the real ones.
  std::set<std::pair<Instant, JobId>> finishes_;  // Of the engine's jobs that run.
  std::map<JobId, Instant> finish_of_;
  double gpu_seconds_used_ = 0;
  double gpu_seconds_ = 0;
};

}  // namespace rubato
