// The platform as the REST interface sees it. Every call may come from any thread, and returns when
// what it changed is on disk.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "rubato/base/time.h"
#include "rubato/live/service/caller.h"
#include "rubato/wire/history.pb.h"
#include "rubato/wire/platform.pb.h"

namespace rubato {

/// Which jobs, and how many of them.
struct JobQuery {
  std::string state{};  // Empty: any; ACTIVE: all that are not over.
  std::string tenant{};
  std::vector<std::uint64_t> ids{};  // Falling; empty: any.
  std::string page_token{};
  int page_size = 100;
};

/// A part of the past.
struct TimeSpan {
  Instant from{};
  Instant to = kNever;
};

/// Which metrics of a job, and how many points of each.
struct MetricQuery {
  std::vector<std::string> names{};  // Empty: all.
  std::size_t points = 500;
};

/// Why a request was not carried out, in the terms of HTTP and of the command line.
enum class RefusalKind { BadRequest, NotPermitted, NotFound, Conflict, Infeasible, Unavailable };

struct Refusal {
  RefusalKind kind = RefusalKind::BadRequest;
  std::string message{};
  std::string field{};       // Of the request, if one is to blame.
  std::string suggestion{};  // The nearest valid spelling.
};

/// Either a T or a Refusal.
template <typename T>
using Answered = std::variant<T, Refusal>;

/// What can be asked of the platform.
class Platform {
 public:
  virtual ~Platform() = default;

  /// A second call with the same key and spec answers as the first did and changes nothing; with
  /// another spec it is a Conflict. A job whose deadline is refused is an answer, not a Refusal.
  [[nodiscard]] virtual Answered<wire::SubmitReply> submit(const Caller& caller,
                                                           const wire::JobSpec& spec,
                                                           const std::string& key) = 0;
  [[nodiscard]] virtual Answered<wire::QuoteReply> quote(const Caller& caller,
                                                         const wire::JobSpec& spec) = 0;
  [[nodiscard]] virtual Answered<wire::JobStatus> job(const Caller& caller,
                                                      const std::string& id) = 0;
  [[nodiscard]] virtual Answered<wire::JobList> jobs(const Caller& caller,
                                                     const JobQuery& query) = 0;
  [[nodiscard]] virtual Answered<wire::JobStatus> cancel(const Caller& caller,
                                                         const std::string& id) = 0;
  [[nodiscard]] virtual Answered<wire::SubmitReply> scale(const Caller& caller,
                                                          const std::string& id,
                                                          const wire::ScaleRequest& request) = 0;
  [[nodiscard]] virtual Answered<wire::WhyReply> why(const Caller& caller,
                                                     const std::string& id) = 0;
  [[nodiscard]] virtual Answered<wire::BlameReply> blame(const Caller& caller,
                                                         const std::string& id) = 0;
  /// Lines of all ranks, from a byte on; `next` is where to go on.
  struct LogPart {
    std::string text{};
    std::uint64_t next = 0;
    bool is_over = false;  // The job has ended and all of its log was read.
  };
  [[nodiscard]] virtual Answered<LogPart> logs(const Caller& caller, const std::string& id,
                                               std::uint64_t from) = 0;

  [[nodiscard]] virtual Answered<wire::NodeList> nodes(const Caller& caller) = 0;
  [[nodiscard]] virtual Answered<wire::NodeStatus> change_node(
      const Caller& caller, const std::string& name, const wire::NodeRequest& request) = 0;
  [[nodiscard]] virtual Answered<wire::TenantList> tenants(const Caller& caller) = 0;
  [[nodiscard]] virtual Answered<wire::TenantStatus> set_tenant(
      const Caller& caller, const wire::TenantStatus& tenant) = 0;
  [[nodiscard]] virtual Answered<wire::PolicyStatus> policy(const Caller& caller) = 0;
  [[nodiscard]] virtual Answered<wire::PolicyStatus> set_policy(const Caller& caller,
                                                                const std::string& policy,
                                                                bool is_shadow) = 0;
  [[nodiscard]] virtual Answered<wire::WhatIfReply> what_if(const Caller& caller,
                                                            const wire::WhatIfRequest& request) = 0;
  [[nodiscard]] virtual Answered<wire::ReportReply> report(const Caller& caller,
                                                           double since_seconds) = 0;
  [[nodiscard]] virtual wire::VersionReply version() = 0;

  [[nodiscard]] virtual Answered<wire::OverviewReply> overview(const Caller& caller) = 0;
  /// What each slot was used for.
  [[nodiscard]] virtual Answered<wire::TimelineReply> timeline(const Caller& caller,
                                                               const TimeSpan& span) = 0;
  /// How jobs will be sized if nothing comes between.
  [[nodiscard]] virtual Answered<wire::FutureReply> future(const Caller& caller) = 0;
  /// How everything stood at a moment; kNever: at the last input.
  [[nodiscard]] virtual Answered<wire::PastReply> past(const Caller& caller, Instant moment) = 0;
  /// The newest `limit` of them.
  [[nodiscard]] virtual Answered<wire::DecisionList> decisions(const Caller& caller,
                                                               const TimeSpan& span, int limit) = 0;
  [[nodiscard]] virtual Answered<wire::JobHistory> job_history(const Caller& caller,
                                                               const std::string& id) = 0;
  /// What the job's program tells of itself.
  [[nodiscard]] virtual Answered<wire::JobMetricsReply> job_metrics(const Caller& caller,
                                                                    const std::string& id,
                                                                    const MetricQuery& query) = 0;
  /// The first name of the query, of each of these jobs.
  [[nodiscard]] virtual Answered<wire::MetricComparison> compare_metrics(
      const Caller& caller, const std::vector<std::uint64_t>& jobs, const MetricQuery& query) = 0;

  /// Events after `sequence` that this caller may see, the oldest first, at most `limit`.
  [[nodiscard]] virtual wire::EventList events(const Caller& caller, std::uint64_t sequence,
                                               int limit) = 0;
  /// `listener` is called, on a thread of the platform, whenever there are new events.
  virtual std::uint64_t subscribe(std::function<void()> listener) = 0;
  virtual void unsubscribe(std::uint64_t subscription) = 0;
  /// Prometheus text.
  [[nodiscard]] virtual std::string metrics() = 0;
  [[nodiscard]] virtual bool is_ready() = 0;
};

}  // namespace rubato
