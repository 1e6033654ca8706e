// Test support: a small world in which a policy can be watched. Only tests include this.
//
// A Scene plays driver and engine at once: it keeps time, hands events over in their order, gives
// jobs the workers that decisions name, lets them train at the speed of the book and charges
// pauses. Owners accept offers that cost no more than the job is worth. It stops the test when a
// decision breaks a rule (capacity, missing verdict).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rubato/policy/policy.h"

namespace rubato::policy {

/// `gpus` steps per second on each number of GPUs up to 64, and on powers of two up to 1024.
[[nodiscard]] std::vector<SpeedRow> linear_speeds(std::string_view gpu_type = "");

/// A job of the model `linear` that takes `seconds` on the GPUs it asks for.
[[nodiscard]] Job linear_job(std::uint64_t id, double arrival, int gpus, double seconds);

/// The same with a deadline, in seconds.
[[nodiscard]] Job due_at(double deadline, Job job);

/// The same without a promise.
[[nodiscard]] Job best_effort(Job job);

struct SceneOptions {
  std::string_view cluster = "1x4";
  double slot_seconds = 0;
  ResizeCostModel accounting = ResizeCostModel::None;
  std::vector<SpeedRow> speeds = linear_speeds();
  std::vector<TenantShare> tenants{};
  bool reloads = false;  // Before each call the policy is saved, made anew and loaded.
};

/// Deterministic; times in and out are seconds.
class Scene {
 public:
  using Make = std::function<Result<std::unique_ptr<Policy>>()>;

  explicit Scene(Make make, SceneOptions options = {});

  /// Arrives at job.arrival, which must not be past.
  void submit(const Job& job);
  void submit(const std::vector<Job>& jobs);

  /// Everything up to and including this moment.
  void run_until(double seconds) { run_until(at_seconds(seconds)); }
  void run() { run_until(kNever); }

  /// All GPUs of the node go or come back, now; the widest jobs of its pool lose their workers
  /// until the rest fits.
  void set_node(NodeId node, bool up);
  /// The job turns out to run at this multiple of the speed of the book.
  void measure(std::uint64_t id, double speed_factor);

  [[nodiscard]] int share(std::uint64_t id) const;
  [[nodiscard]] std::map<JobId, int> shares() const;
  /// Seconds; -1 if it has not finished.
  [[nodiscard]] double finish(std::uint64_t id) const;
  [[nodiscard]] const std::map<JobId, Instant>& finishes() const { return finishes_; }
  [[nodiscard]] const Verdict& verdict(std::uint64_t id) const { return verdicts_.at(JobId{id}); }
  [[nodiscard]] const std::map<JobId, Verdict>& verdicts() const { return verdicts_; }
  [[nodiscard]] int rounds() const { return rounds_; }
  [[nodiscard]] int starts() const { return starts_; }
  [[nodiscard]] const JobTable& jobs() const { return jobs_; }
  [[nodiscard]] View view();

  /// Called after each round.
  void watch(std::function<void()> watcher) { watcher_ = std::move(watcher); }

 private:
  void run_until(Instant end);
  [[nodiscard]] Instant next_arrival() const;
  [[nodiscard]] Instant next_finish() const;
  void complete_due();
  void arrive_next();
  void tell(const Event& event);
  void apply(const Verdict& verdict);
  void apply_round(const Decision& decision);
  void stall_others(const std::set<JobId>& changed);
  void change(JobState& job, const Target& target);
  [[nodiscard]] Duration pause_of(const JobState& job, const Target& target) const;
  [[nodiscard]] bool is_restart_round() const;
  [[nodiscard]] double speed_of(const JobState& job, PoolId pool, int workers) const;
  [[nodiscard]] int used(PoolId pool) const;
  JobState& widest_in(PoolId pool);

  Make make_;
  bool reloads_ = false;
  std::unique_ptr<Policy> policy_;
  Topology topology_;
  SpeedBook speeds_;
  Duration slot_{};
  ResizeCost costs_;
  std::vector<int> capacity_;
  std::vector<TenantShare> tenants_;
  JobTable jobs_;
  Random random_{1};
  Instant now_{};
  Instant wake_ = kNever;
  std::map<std::pair<Instant, JobId>, Job> later_;
  std::map<JobId, Instant> finishes_;
  std::map<JobId, Verdict> verdicts_;
  std::function<void()> watcher_;
  int rounds_ = 0;
  int starts_ = 0;
  int steps_ = 0;
};

}  // namespace rubato::policy
