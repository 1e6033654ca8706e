// The live driver: real time, one loop thread, and a journal that is written before anything acts.
//
// Requests and agents' messages wait in a queue. The loop takes all that wait, lets the controller
// take each in, appends what came of it to the journal in one transaction, and only then sends
// orders and answers. While the journal cannot be written nothing acts and nothing is answered.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/live/controller/controller.h"
#include "rubato/live/journal/checkpoint_file.h"
#include "rubato/live/journal/group_commit.h"
#include "rubato/live/journal/journal_store.h"
#include "rubato/live/service/agent_port.h"
#include "rubato/live/service/clock.h"
#include "rubato/live/service/metric_store.h"
#include "rubato/live/service/metrics_text.h"
#include "rubato/live/service/past.h"
#include "rubato/live/service/platform.h"
#include "rubato/live/service/what_if.h"

namespace rubato {

struct ServiceOptions {
  std::string state_directory{};   // Must exist. Holds journal.sqlite, controller.state and jobs/.
  std::string shared_directory{};  // Of all agents; logs of jobs elsewhere are there.
  ControllerOptions controller{};
  std::string version{};
  Duration agent_patience = std::chrono::seconds(5);    // Without a word: its nodes are gone.
  Duration report_interval = std::chrono::seconds(10);  // Between reports that tell nothing new.
  CommitQueueOptions queue{};
  WhatIf what_if{};
  TimeSources time = real_time_sources();
};

/// One per state directory.
class Service final : public Platform {
 public:
  /// Takes up where the journal ends.
  [[nodiscard]] static Result<std::unique_ptr<Service>> open(ServiceOptions options);
  ~Service() override;
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  Service(Service&&) = delete;
  Service& operator=(Service&&) = delete;

  /// Where orders for an agent go from now on; null: nowhere. The port must outlive its use: after
  /// a call with null it is not used any more.
  void attach(const std::string& agent, AgentPort* port);
  /// From any thread. With a port, for an agent elsewhere, answers go there from now on; until
  /// detach_remote() it must be valid.
  void hear(const std::string& agent, const wire::FromAgent& message, AgentPort* port = nullptr);
  /// Sends nothing to agents elsewhere any more.
  void detach_remote();
  /// This is about to end: a journal that cannot be written is not waited for any more, and who
  /// waits for it is refused.
  void stop_waiting() { is_stopping_ = true; }

  /// How the last start went: inputs replayed, and commands that came out otherwise than
  /// journalled.
  struct Recovery {
    std::uint64_t inputs = 0;
    std::uint64_t differences = 0;
    double seconds = 0;
  };
  [[nodiscard]] const Recovery& recovery() const { return recovery_; }

  Answered<wire::SubmitReply> submit(const Caller& caller, const wire::JobSpec& spec,
                                     const std::string& key) override;
  Answered<wire::QuoteReply> quote(const Caller& caller, const wire::JobSpec& spec) override;
  Answered<wire::JobStatus> job(const Caller& caller, const std::string& id) override;
  Answered<wire::JobList> jobs(const Caller& caller, const JobQuery& query) override;
  Answered<wire::JobStatus> cancel(const Caller& caller, const std::string& id) override;
  Answered<wire::SubmitReply> scale(const Caller& caller, const std::string& id,
                                    const wire::ScaleRequest& request) override;
  Answered<wire::WhyReply> why(const Caller& caller, const std::string& id) override;
  Answered<wire::BlameReply> blame(const Caller& caller, const std::string& id) override;
  Answered<LogPart> logs(const Caller& caller, const std::string& id, std::uint64_t from) override;
  Answered<wire::NodeList> nodes(const Caller& caller) override;
  Answered<wire::NodeStatus> change_node(const Caller& caller, const std::string& name,
                                         const wire::NodeRequest& request) override;
  Answered<wire::TenantList> tenants(const Caller& caller) override;
  Answered<wire::TenantStatus> set_tenant(const Caller& caller,
                                          const wire::TenantStatus& tenant) override;
  Answered<wire::PolicyStatus> policy(const Caller& caller) override;
  Answered<wire::PolicyStatus> set_policy(const Caller& caller, const std::string& policy,
                                          bool is_shadow) override;
  Answered<wire::WhatIfReply> what_if(const Caller& caller,
                                      const wire::WhatIfRequest& request) override;
  Answered<wire::ReportReply> report(const Caller& caller, double since_seconds) override;
  wire::VersionReply version() override;
  Answered<wire::OverviewReply> overview(const Caller& caller) override;
  Answered<wire::TimelineReply> timeline(const Caller& caller, const TimeSpan& span) override;
  Answered<wire::FutureReply> future(const Caller& caller) override;
  Answered<wire::PastReply> past(const Caller& caller, Instant moment) override;
  Answered<wire::DecisionList> decisions(const Caller& caller, const TimeSpan& span,
                                         int limit) override;
  Answered<wire::JobHistory> job_history(const Caller& caller, const std::string& id) override;
  Answered<wire::JobMetricsReply> job_metrics(const Caller& caller, const std::string& id,
                                              const MetricQuery& query) override;
  Answered<wire::MetricComparison> compare_metrics(const Caller& caller,
                                                   const std::vector<std::uint64_t>& jobs,
                                                   const MetricQuery& query) override;
  wire::EventList events(const Caller& caller, std::uint64_t sequence, int limit) override;
  std::uint64_t subscribe(std::function<void()> listener) override;
  void unsubscribe(std::uint64_t subscription) override;
  std::string metrics() override;
  bool is_ready() override { return is_ready_; }

 private:
  using Task = std::function<void()>;

  struct AgentLine {
    AgentPort* port = nullptr;
    bool is_remote = false;
    Instant heard{};
    bool is_silent = false;
  };

  Service(ServiceOptions options, JournalStore store, Controller controller);
  [[nodiscard]] Status replay(std::uint64_t after);
  void set_clock();

  // The loop's.
  void loop();
  void apply(const wire::JournalInput& given, std::optional<SubmissionKey> key = std::nullopt);
  void commit();
  void act();
  void keep_checkpoint(bool is_idle);
  void take(const std::string& agent, const wire::FromAgent& message);
  void take_metrics(const std::string& agent, const wire::JobMetrics& metrics);
  [[nodiscard]] bool tells_news(const std::string& agent, const wire::JobReport& report);
  void find_silent_agents();
  void watch_clock();
  void lose_nodes_of(const std::string& agent, const std::string& reason);
  void send(const AgentOrder& order);
  [[nodiscard]] const LiveJob* visible(const Caller& caller, const std::string& id) const;
  [[nodiscard]] wire::JobStatus status_of(const LiveJob& job) const;
  [[nodiscard]] std::optional<wire::JobStatus> status_if_asked(const Caller& caller,
                                                               const JobQuery& query,
                                                               const LiveJob& job) const;
  [[nodiscard]] wire::JobList page_of_jobs(const Caller& caller, const JobQuery& query) const;
  [[nodiscard]] Answered<wire::SubmitReply> submit_now(const Caller& caller,
                                                       const wire::JobSpec& spec,
                                                       const std::string& key);
  [[nodiscard]] Answered<wire::SubmitReply> answer_again(const SubmissionKey& key,
                                                         const std::string& hash) const;
  [[nodiscard]] Answered<wire::Submitted> submission_of(const Caller& caller,
                                                        const wire::JobSpec& spec) const;
  [[nodiscard]] std::optional<Refusal> scaling_problem(const Caller& caller, const std::string& id,
                                                       const wire::WorkerLimits& workers) const;
  [[nodiscard]] LivePosition position() const;
  [[nodiscard]] std::optional<Refusal> over_budget(const std::string& tenant) const;

  enum class Need { IfReady, InAnyCase };

  /// Runs `work` on the loop and returns its answer once the batch is on disk. While the journal
  /// cannot be written, work that is not needed in any case is refused and not done later either.
  template <typename T>
  [[nodiscard]] Answered<T> ask(std::function<Answered<T>()> work, Need need = Need::IfReady);

  ServiceOptions options_;
  JournalStore store_;
  Controller controller_;
  ServiceClock clock_;
  Recovery recovery_{};
  std::atomic<bool> is_ready_ = true;

  CommitQueue<Task> queue_;
  std::atomic<bool> is_stopping_ = false;

  // Used by the loop alone.
  Instant now_{};
  std::vector<JournalItem> entries_;
  std::vector<AgentOrder> orders_;
  bool has_given_up_ = false;  // The journal lacks inputs that the controller has seen.
  std::vector<std::function<void(bool is_durable)>> answers_;  // For when the batch is on disk.
  std::map<std::string, AgentLine> agents_;
  std::map<JobId, wire::JobReport> reports_;  // The newest, journalled or not.
  std::map<JobId, std::pair<Instant, wire::JobReport>> journalled_;
  std::uint64_t next_job_ = 1;
  std::uint64_t inputs_ = 0;
  std::uint64_t inputs_at_checkpoint_ = 0;
  Duration clock_ahead_{};  // Of the system's, as it was last told.
  CheckpointChild checkpoints_;
  HistogramCounts plan_seconds_{{1e-5, 1e-4, 1e-3, 5e-3, 0.01, 0.05, 0.1, 1}};

  std::mutex listeners_mutex_;
  std::map<std::uint64_t, std::function<void()>> listeners_;
  std::uint64_t next_listener_ = 1;

  Past past_;
  MetricStore metrics_;
  PlayLimit plays_;
  std::mutex future_mutex_;  // Held while the future is played: all who ask share one.
  wire::FutureReply future_;
  Instant future_at_{};

  std::thread thread_;  // Last: it uses all of the above.
};

template <typename T>
Answered<T> Service::ask(std::function<Answered<T>()> work, Need need) {
  const Refusal unavailable{.kind = RefusalKind::Unavailable,
                            .message = "the journal cannot be written now"};
  if (need == Need::IfReady && !is_ready_) {
    return unavailable;
  }
  // Shared with the loop, which may still answer when nobody waits any more.
  const auto answer = std::make_shared<std::promise<Answered<T>>>();
  auto future = answer->get_future();
  const auto posted = queue_.post([this, work = std::move(work), answer, unavailable] {
    answers_.push_back([answer, unavailable, value = work()](bool is_durable) {
      answer->set_value(is_durable ? value : Answered<T>(unavailable));
    });
  });
  if (posted == Posted::Full) {
    return Refusal{.kind = RefusalKind::Unavailable,
                   .message = "too many requests wait; try again"};
  }
  if (posted == Posted::Closed || (need == Need::InAnyCase && !is_ready_ && !is_stopping_)) {
    return unavailable;
  }
  return future.get();
}

}  // namespace rubato
