// The half of the tests' platform that is not about jobs: nodes, tenants, policies.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "rubato/live/service/platform.h"
#include "rubato/wire/timestamp.h"

namespace rubato {

/// One node, node0; tenants and policies as they were set.
class MemoryCluster : public Platform {
 public:
  Answered<wire::NodeList> nodes(const Caller& /*caller*/) override {
    wire::NodeList list;
    list.add_nodes()->set_name("node0");
    return list;
  }

  Answered<wire::NodeStatus> change_node(const Caller& /*caller*/, const std::string& name,
                                         const wire::NodeRequest& request) override {
    if (name != "node0") {
      return Refusal{.kind = RefusalKind::NotFound,
                     .message = "no node '" + name + "'",
                     .field = "name",
                     .suggestion = "node0"};
    }
    wire::NodeStatus node;
    node.set_name(name);
    node.set_draining(request.drain());
    return node;
  }

  Answered<wire::TenantList> tenants(const Caller& /*caller*/) override {
    const std::lock_guard lock(cluster_mutex_);
    wire::TenantList list;
    for (const auto& [name, tenant] : tenants_) {
      *list.add_tenants() = tenant;
    }
    return list;
  }

  Answered<wire::TenantStatus> set_tenant(const Caller& /*caller*/,
                                          const wire::TenantStatus& tenant) override {
    const std::lock_guard lock(cluster_mutex_);
    return tenants_[tenant.name()] = tenant;
  }

  Answered<wire::PolicyStatus> policy(const Caller& /*caller*/) override {
    const std::lock_guard lock(cluster_mutex_);
    return policy_;
  }

  Answered<wire::PolicyStatus> set_policy(const Caller& caller, const std::string& policy,
                                          bool is_shadow) override {
    if (caller.role != Role::Admin) {
      return Refusal{.kind = RefusalKind::NotPermitted, .message = "not an admin"};
    }
    const std::lock_guard lock(cluster_mutex_);
    (is_shadow ? policy_.mutable_shadow() : policy_.mutable_live())->assign(policy);
    return policy_;
  }

  Answered<wire::WhatIfReply> what_if(const Caller& /*caller*/,
                                      const wire::WhatIfRequest& request) override {
    wire::WhatIfReply reply;
    reply.set_deadlines_met_ratio_then(request.add_gpus());
    return reply;
  }

  Answered<wire::ReportReply> report(const Caller& /*caller*/, double since_seconds) override {
    wire::ReportReply reply;
    reply.set_mean_jct_seconds(since_seconds);
    return reply;
  }

  Answered<wire::OverviewReply> overview(const Caller& /*caller*/) override {
    wire::OverviewReply reply;
    reply.set_nodes(1);
    return reply;
  }

  Answered<wire::TimelineReply> timeline(const Caller& /*caller*/, const TimeSpan& span) override {
    wire::TimelineReply reply;
    *reply.mutable_from() = *to_timestamp(span.from);
    return reply;
  }

  Answered<wire::FutureReply> future(const Caller& /*caller*/) override {
    return wire::FutureReply{};
  }

  Answered<wire::PastReply> past(const Caller& /*caller*/, Instant moment) override {
    wire::PastReply reply;
    if (const auto at = to_timestamp(moment)) {
      *reply.mutable_at() = *at;
    }
    return reply;
  }

  Answered<wire::DecisionList> decisions(const Caller& /*caller*/, const TimeSpan& span,
                                         int limit) override {
    wire::DecisionList list;
    list.add_decisions()->set_sequence(static_cast<std::uint64_t>(limit));
    list.set_truncated(span.to != kNever);
    return list;
  }

  Answered<wire::JobHistory> job_history(const Caller& /*caller*/, const std::string& id) override {
    wire::JobHistory history;
    history.set_job(id);
    return history;
  }

  wire::VersionReply version() override {
    wire::VersionReply reply;
    reply.set_version("test");
    return reply;
  }

  /// A metric `loss` that every job has.
  Answered<wire::JobMetricsReply> job_metrics(const Caller& /*caller*/, const std::string& id,
                                              const MetricQuery& query) override {
    wire::JobMetricsReply reply;
    reply.set_job(id);
    reply.add_names("loss");
    if (query.names.empty() || query.names.front() == "loss") {
      wire::MetricLine& line = *reply.add_lines();
      line.set_name("loss");
      line.add_steps(static_cast<double>(query.points));
      line.add_values(0.5);
    }
    return reply;
  }

  Answered<wire::MetricComparison> compare_metrics(const Caller& /*caller*/,
                                                   const std::vector<std::uint64_t>& jobs,
                                                   const MetricQuery& query) override {
    wire::MetricComparison reply;
    reply.set_name(query.names.front());
    for (const std::uint64_t id : jobs) {
      reply.add_jobs()->set_job(std::to_string(id));
    }
    return reply;
  }

 private:
  std::mutex cluster_mutex_{};
  std::map<std::string, wire::TenantStatus> tenants_{};
  wire::PolicyStatus policy_{};
};

}  // namespace rubato
