// What users ask of the cluster: nodes, tenants, the policy, reports. Carried out on the loop.
#include <algorithm>

#include <fmt/core.h>

#include "rubato/live/service/service.h"
#include "rubato/policy/registry.h"
#include "rubato/wire/timestamp.h"

namespace rubato {
namespace {

Refusal only_admins() {
  return {.kind = RefusalKind::NotPermitted, .message = "this needs the role admin"};
}

// Why the window of a request cannot be one.
std::optional<Refusal> maintenance_problem(const wire::NodeRequest& request) {
  if (!request.has_maintenance()) {
    return std::nullopt;
  }
  const auto from = from_timestamp(request.maintenance().from());
  const auto to = from_timestamp(request.maintenance().to());
  if (from && to && *from < *to) {
    return std::nullopt;
  }
  return Refusal{.message = "a maintenance window begins before it ends", .field = "maintenance"};
}

}  // namespace

Answered<wire::NodeList> Service::nodes(const Caller& /*caller*/) {
  return ask<wire::NodeList>([this]() -> Answered<wire::NodeList> { return controller_.nodes(); });
}

Answered<wire::NodeStatus> Service::change_node(const Caller& caller, const std::string& name,
                                                const wire::NodeRequest& request) {
  if (caller.role != Role::Admin) {
    return only_admins();
  }
  if (const auto problem = maintenance_problem(request)) {
    return *problem;
  }
  return ask<wire::NodeStatus>([this, caller, name, request]() -> Answered<wire::NodeStatus> {
    wire::JournalInput input;
    input.mutable_node_request()->set_node(name);
    input.mutable_node_request()->set_user(caller.user);
    *input.mutable_node_request()->mutable_request() = request;
    if (request.has_maintenance()) {
      wire::MaintenanceWindow& window =
          *input.mutable_node_request()->mutable_request()->mutable_maintenance();
      for (auto* edge : {window.mutable_from(), window.mutable_to()}) {  // By the system's clock.
        *edge = to_timestamp(*from_timestamp(*edge) - clock_.system_ahead()).value_or(*edge);
      }
    }
    const auto is_named = [&](const NodeRecord& node) { return node.node.name == name; };
    if (std::ranges::none_of(controller_.node_records(), is_named)) {
      return Refusal{.kind = RefusalKind::NotFound,
                     .message = fmt::format("there is no node {}", name)};
    }
    apply(input);
    const wire::NodeList list = controller_.nodes();
    return *std::ranges::find_if(list.nodes(),
                                 [&](const wire::NodeStatus& node) { return node.name() == name; });
  });
}

Answered<wire::TenantList> Service::tenants(const Caller& caller) {
  return ask<wire::TenantList>([this, caller]() -> Answered<wire::TenantList> {
    wire::TenantList list = controller_.tenants(now_);
    if (caller.role != Role::Admin && !caller.tenant.empty()) {
      auto& tenants = *list.mutable_tenants();
      const auto is_foreign = [&](const wire::TenantStatus& each) {
        return each.name() != caller.tenant;
      };
      tenants.erase(std::remove_if(tenants.begin(), tenants.end(), is_foreign), tenants.end());
    }
    return list;
  });
}

Answered<wire::TenantStatus> Service::set_tenant(const Caller& caller,
                                                 const wire::TenantStatus& tenant) {
  if (caller.role != Role::Admin) {
    return only_admins();
  }
  return ask<wire::TenantStatus>([this, caller, tenant]() -> Answered<wire::TenantStatus> {
    if (const std::string problem = controller_.why_not(tenant); !problem.empty()) {
      return Refusal{.kind = RefusalKind::Infeasible, .message = problem, .field = "guarantee"};
    }
    wire::JournalInput input;
    *input.mutable_tenant()->mutable_tenant() = tenant;
    input.mutable_tenant()->set_user(caller.user);
    apply(input);
    return tenant;
  });
}

// GPU hours that a tenant has used beyond its budget; nothing if it has none or keeps to it.
std::optional<Refusal> Service::over_budget(const std::string& tenant) const {
  const wire::TenantStatus* set = controller_.tenant(tenant);
  if (set == nullptr || set->budget_gpu_hours() <= 0) {
    return std::nullopt;
  }
  const wire::TenantList list = controller_.tenants(now_);
  for (const wire::TenantStatus& each : list.tenants()) {
    if (each.name() == tenant && each.budget_gpu_hours() > 0 &&
        each.used_gpu_hours() >= each.budget_gpu_hours()) {
      return Refusal{.kind = RefusalKind::Infeasible,
                     .message = fmt::format("tenant {} has used {:.1f} of its {:.1f} GPU hours",
                                            tenant, each.used_gpu_hours(), each.budget_gpu_hours()),
                     .field = "tenant"};
    }
  }
  return std::nullopt;
}

Answered<wire::PolicyStatus> Service::policy(const Caller& /*caller*/) {
  return ask<wire::PolicyStatus>(
      [this]() -> Answered<wire::PolicyStatus> { return controller_.policy_status(); });
}

Answered<wire::PolicyStatus> Service::set_policy(const Caller& caller, const std::string& policy,
                                                 bool is_shadow) {
  if (caller.role != Role::Admin) {
    return only_admins();
  }
  const bool ends_shadow = is_shadow && policy == "none";
  if (const auto made = make_policy(policy); !made && !ends_shadow) {
    return Refusal{.message = made.error().message, .field = "policy"};
  }
  return ask<wire::PolicyStatus>(
      [this, caller, policy, is_shadow]() -> Answered<wire::PolicyStatus> {
        wire::JournalInput input;
        input.mutable_policy()->set_policy(policy);
        input.mutable_policy()->set_is_shadow(is_shadow);
        input.mutable_policy()->set_user(caller.user);
        apply(input);
        return controller_.policy_status();
      });
}

Answered<wire::ReportReply> Service::report(const Caller& caller, double since_seconds) {
  return ask<wire::ReportReply>([this, caller, since_seconds]() -> Answered<wire::ReportReply> {
    const Instant since = since_seconds > 0 ? now_ - from_seconds(since_seconds) : Instant{};
    wire::ReportReply report = controller_.report(now_, since);
    if (caller.role != Role::Admin && !caller.tenant.empty()) {
      auto& jobs = *report.mutable_jobs();
      const auto foreign = [&](const wire::JobStatus& job) {
        return job.spec().tenant() != caller.tenant;
      };
      jobs.erase(std::remove_if(jobs.begin(), jobs.end(), foreign), jobs.end());
    }
    return report;
  });
}

}  // namespace rubato
