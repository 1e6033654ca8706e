// The live platform's state: the engine, and what the engine need not know about real jobs.
//
// A pure state machine as the engine is: inputs in, orders and news out; no clock, file or thread.
// The journal of its inputs therefore brings it back, and `commands` of each input shows that the
// engine decided the same again.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/engine/engine.h"
#include "rubato/live/controller/controller_options.h"
#include "rubato/live/controller/live_job.h"
#include "rubato/live/controller/live_node.h"
#include "rubato/live/controller/quote_record.h"
#include "rubato/live/controller/shadow_policy.h"
#include "rubato/live/controller/slot_book.h"
#include "rubato/live/controller/usage_sums.h"
#include "rubato/wire/journal.pb.h"

namespace rubato {

/// A message and the agent it is for.
struct AgentOrder {
  std::string agent{};
  wire::ToAgent message{};
};

/// What one input set in motion.
struct Effects {
  std::vector<AgentOrder> orders{};
  std::vector<wire::EventRecord> events{};
  std::string commands{};  // The engine's, one line each.
};

class Controller {
 public:
  [[nodiscard]] static Result<Controller> make(const ControllerOptions& options);

  /// As save() left it; `options` are those it was made with.
  [[nodiscard]] static Result<Controller> load(const ControllerOptions& options,
                                               std::string_view bytes);
  /// All that the inputs so far have made of it.
  [[nodiscard]] std::string save() const;

  /// Time never runs backwards.
  [[nodiscard]] Effects on(Instant now, const wire::JournalInput& input);
  /// When a Woken is due; kNever: not at all.
  [[nodiscard]] Instant wake() const;

  /// What would be answered; changes nothing.
  [[nodiscard]] wire::QuoteReply quote(Instant now, const wire::Submitted& submission);
  [[nodiscard]] Result<wire::WhyReply> why(Instant now, JobId job) const;

  [[nodiscard]] const std::map<JobId, LiveJob>& jobs() const { return jobs_; }
  /// Null if there is no such job.
  [[nodiscard]] const LiveJob* find(JobId job) const;
  [[nodiscard]] wire::JobStatus status(Instant now, const LiveJob& job) const;
  [[nodiscard]] wire::NodeList nodes() const;
  /// In the order in which they came; none ever goes.
  [[nodiscard]] const std::vector<NodeRecord>& node_records() const { return nodes_; }
  /// Whether the last order for this job went to this agent.
  [[nodiscard]] bool is_with(JobId job, const std::string& agent) const;
  [[nodiscard]] wire::ReportReply report(Instant now, Instant since) const;
  [[nodiscard]] wire::TenantList tenants(Instant now) const;
  /// Why a tenant cannot be set so: too much would be guaranteed, or a promise broken; empty: it
  /// can.
  [[nodiscard]] std::string why_not(const wire::TenantStatus& tenant) const;
  /// Active jobs as the engine would meet them now, with the work that is left, in the order in
  /// which it met them.
  [[nodiscard]] std::vector<Job> active_jobs() const;
  [[nodiscard]] const UsageSums& usage() const { return usage_; }
  [[nodiscard]] const std::vector<double>& quote_errors() const { return quote_record_.errors(); }
  /// What was set for a tenant; null if nothing was.
  [[nodiscard]] const wire::TenantStatus* tenant(const std::string& name) const;
  /// What is known about the speed of a job's kind; empty if nothing.
  [[nodiscard]] std::vector<wire::SpeedPoint> known_speeds(const wire::JobSpec& spec) const;
  [[nodiscard]] const Engine& engine() const { return *engine_; }
  [[nodiscard]] const ControllerOptions& options() const { return options_; }
  [[nodiscard]] const std::string& policy() const { return policy_; }
  /// The policy and its shadow, and how both did since the shadow began.
  [[nodiscard]] wire::PolicyStatus policy_status() const;
  [[nodiscard]] Instant now() const { return now_; }

 private:
  using SpeedKey = std::pair<std::string, int>;  // Model and batch.

  /// Why things change while one input is handled, in words for `blame`.
  struct Cause {
    std::string text{};
    std::string by{};
  };

  explicit Controller(ControllerOptions options);

  // One per kind of input.
  void take(const wire::Submitted& submitted);
  void take(const wire::Cancelled& cancelled);
  void take(const wire::Scaled& scaled);
  void take(const wire::AgentHello& hello);
  void take(const wire::JobReport& report);
  void take(const wire::SlotsHeld& held);
  void take(const wire::JobEnded& ended);
  void take(const wire::NodeChanged& change);
  void take(const wire::NodeRequested& request);
  void take(const wire::TenantSet& tenant);
  void take(const wire::PolicySet& policy);
  void take(const wire::Woken& woken);

  // Engine in, commands out.
  /// On the first so many nodes.
  [[nodiscard]] Result<Engine> make_engine(const std::string& policy, std::size_t nodes) const;
  void feed(const Event& event);
  void carry_out_all(const Commands& commands);
  void carry_out(const Answer& answer);
  void carry_out(const Run& run);
  void carry_out(const Suspend& suspend);
  void carry_out(const Wake& wake);
  void carry_out(const Alarm& alarm);
  void carry_out(const Rebatch& /*rebatch*/) {}
  void carry_out(const Stall& /*stall*/) {}
  [[nodiscard]] LiveJob* by_engine_id(JobId id);

  [[nodiscard]] std::vector<policy::tenants::TenantGpus> guarantees(const Topology& machines) const;
  void begin_again(const std::string& policy);
  void set_shadow(const wire::PolicySet& policy);
  [[nodiscard]] Status load_shadow(const wire::SavedShadow& from);
  void tell_shadow(const LiveJob& job);
  void leave_shadow(const LiveJob& job);
  [[nodiscard]] Instant shadow_wake() const;

  /// Tells the engine of a job, under a new name if it had one.
  void arrive(LiveJob& job);
  void leave_engine(LiveJob& job, Outcome outcome);
  [[nodiscard]] Job engine_job(const LiveJob& job, JobId id) const;
  [[nodiscard]] Instant planned_deadline(Instant deadline) const;
  /// The earliest deadline whose plan may end at `planned`.
  [[nodiscard]] Instant promised_for(Instant planned) const;
  void put_record(wire::QuoteReply& reply) const;
  void put_finish(Instant finish, wire::QuoteReply& reply) const;
  [[nodiscard]] double band() const;
  void quote_finish(LiveJob& job);
  /// Counts a job that is over among the promises that came due.
  void count_promise(const LiveJob& job);

  void on_final_end(LiveJob& job, const wire::JobEnded& ended);
  void on_loss(LiveJob& job, const wire::JobEnded& ended);
  void reconcile(const wire::AgentHello& hello);
  void welcome(const wire::AgentNode& node, const std::string& agent);
  void join(const wire::AgentNode& node, const std::string& agent);
  void lose_jobs_on(NodeId node);
  /// The last word came from an agent that the job has left.
  [[nodiscard]] bool is_foreign(const LiveJob& job) const;
  void let_go(const LiveJob& job, const std::string& agent);
  void learn(LiveJob& job, const wire::JobReport& report);
  /// Steps since it got its name in the engine, with those under way.
  [[nodiscard]] double estimated_done(const LiveJob& job) const;
  void check_promise(LiveJob& job);
  void set_share(LiveJob& job, int share);
  void set_training(LiveJob& job, int workers);
  /// Counts what the job has used; due before its slots change.
  void count_use(LiveJob& job);
  void settle_refusals();
  [[nodiscard]] Instant expected_finish(const LiveJob& job) const;
  void finish(LiveJob& job, LiveState state, std::string_view event, const std::string& message);
  void refresh_nodes();

  // What ends after a time that its owner set.
  void note_limit(const LiveJob& job);
  [[nodiscard]] Instant runtime_end(const LiveJob& job) const;
  [[nodiscard]] Instant next_limit() const;
  void end_overdue();

  // Orders and news.
  void settle();
  void send_run(LiveJob& job, const SlotSet& slots);
  void repeat_order(LiveJob& job);
  void suspend_there(const LiveJob& job, const std::string& agent);
  void send_stop(LiveJob& job, const std::string& reason);
  [[nodiscard]] SlotSet slot_set(
      const google::protobuf::RepeatedPtrField<wire::SlotName>& names) const;
  [[nodiscard]] std::string agent_of(const LiveJob& job) const;
  [[nodiscard]] int site_of(const std::string& agent);
  wire::EventRecord& tell(std::string_view type, std::string message);
  wire::EventRecord& tell(std::string_view type, const LiveJob& job, std::string message);

  ControllerOptions options_;
  std::string policy_;
  Topology topology_;
  std::optional<Engine> engine_;
  Instant now_{};
  Instant wake_ = kNever;
  Cause wake_cause_;
  std::map<JobId, LiveJob> jobs_;
  std::set<JobId> limited_;       // Active ones with a max_runtime.
  std::map<JobId, JobId> names_;  // From the engine's to ours.
  std::uint64_t next_engine_id_ = 1;
  std::uint64_t next_event_ = 1;
  std::vector<NodeRecord> nodes_;
  std::size_t engine_nodes_ = 0;      // That there were when the engine was made.
  std::map<std::string, int> sites_;  // Numbers of agents, for the slot book.
  SlotBook slots_;
  std::map<JobId, std::string> agents_;  // That last had the job.
  std::map<SpeedKey, std::vector<wire::SpeedPoint>> speeds_;
  std::map<std::string, wire::TenantStatus> tenants_;
  std::optional<ShadowPolicy> shadow_;
  std::size_t shadow_nodes_ = 0;  // That there were when it began.
  UsageSums usage_at_shadow_;
  UsageSums usage_;
  int training_ = 0;  // Workers that train, of all jobs.
  QuoteRecord quote_record_;
  int promises_due_ = 0;    // Of jobs that succeeded.
  int promises_kept_ = 0;   // Of those.
  Instant outlook_from_{};  // Start of the second for which forecasts are counted.
  long forecast_budget_ = 0;

  // While one input is handled.
  Effects effects_;
  Cause cause_;
  std::string speaker_;  // The agent whose word it is.
  std::deque<Verdict> offers_;
  std::vector<JobId> refused_;
};

}  // namespace rubato
