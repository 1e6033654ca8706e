// The functions behind the routes of the REST interface; rest_routes.cc says which is where.
#pragma once

#include "rubato/live/rest/rest_call.h"

namespace rubato {

inline constexpr std::uint64_t kPageSizeMax = 1000;
inline constexpr std::uint64_t kEventsMax = 10000;
inline constexpr std::uint64_t kJobsComparedMax = 20;

// rest_jobs.cc
[[nodiscard]] HttpReply rest_submit(const RestContext& context, const RestCall& call);
[[nodiscard]] HttpReply rest_quote(const RestContext& context, const RestCall& call);
[[nodiscard]] HttpReply rest_jobs(const RestContext& context, const RestCall& call);
[[nodiscard]] HttpReply rest_job(const RestContext& context, const RestCall& call);
[[nodiscard]] HttpReply rest_cancel(const RestContext& context, const RestCall& call);
[[nodiscard]] HttpReply rest_scale(const RestContext& context, const RestCall& call);
[[nodiscard]] HttpReply rest_why(const RestContext& context, const RestCall& call);
[[nodiscard]] HttpReply rest_blame(const RestContext& context, const RestCall& call);

// rest_logs.cc
[[nodiscard]] HttpReply rest_logs(const RestContext& context, const RestCall& call);

// rest_cluster.cc
[[nodiscard]] HttpReply rest_nodes(const RestContext& context, const RestCall& call);
[[nodiscard]] HttpReply rest_change_node(const RestContext& context, const RestCall& call);
[[nodiscard]] HttpReply rest_tenants(const RestContext& context, const RestCall& call);
[[nodiscard]] HttpReply rest_tenant(const RestContext& context, const RestCall& call);
[[nodiscard]] HttpReply rest_set_tenant(const RestContext& context, const RestCall& call);
[[nodiscard]] HttpReply rest_policy(const RestContext& context, const RestCall& call);
[[nodiscard]] HttpReply rest_set_policy(const RestContext& context, const RestCall& call);
[[nodiscard]] HttpReply rest_set_shadow(const RestContext& context, const RestCall& call);
[[nodiscard]] HttpReply rest_what_if(const RestContext& context, const RestCall& call);
[[nodiscard]] HttpReply rest_report(const RestContext& context, const RestCall& call);

// rest_events.cc
[[nodiscard]] HttpReply rest_events(const RestContext& context, const RestCall& call);

// rest_history.cc
[[nodiscard]] HttpReply rest_overview(const RestContext& context, const RestCall& call);
[[nodiscard]] HttpReply rest_timeline(const RestContext& context, const RestCall& call);
[[nodiscard]] HttpReply rest_future(const RestContext& context, const RestCall& call);
[[nodiscard]] HttpReply rest_past(const RestContext& context, const RestCall& call);
[[nodiscard]] HttpReply rest_decisions(const RestContext& context, const RestCall& call);
[[nodiscard]] HttpReply rest_job_history(const RestContext& context, const RestCall& call);

// rest_metrics.cc
[[nodiscard]] HttpReply rest_job_metrics(const RestContext& context, const RestCall& call);
[[nodiscard]] HttpReply rest_compare_metrics(const RestContext& context, const RestCall& call);

// rest_service.cc
[[nodiscard]] HttpReply rest_me(const RestContext& context, const RestCall& call);
[[nodiscard]] HttpReply rest_policies(const RestContext& context, const RestCall& call);
[[nodiscard]] HttpReply rest_version(const RestContext& context, const RestCall& call);
[[nodiscard]] HttpReply rest_openapi(const RestContext& context, const RestCall& call);
[[nodiscard]] HttpReply rest_alive(const RestContext& context, const RestCall& call);
[[nodiscard]] HttpReply rest_ready(const RestContext& context, const RestCall& call);
[[nodiscard]] HttpReply rest_metrics(const RestContext& context, const RestCall& call);

}  // namespace rubato
