#include <algorithm>

#include <fmt/core.h>

#include "rubato/base/parse.h"
#include "rubato/live/rest/rest_functions.h"

namespace rubato {
namespace {

HttpReply set_policy(const RestContext& context, const RestCall& call, bool is_shadow) {
  return with_body<wire::PolicyRequest>(call, [&](const wire::PolicyRequest& request) {
    return reply_of(context.platform.set_policy(call.caller, request.policy(), is_shadow));
  });
}

}  // namespace

HttpReply rest_nodes(const RestContext& context, const RestCall& call) {
  return reply_of(context.platform.nodes(call.caller));
}

HttpReply rest_change_node(const RestContext& context, const RestCall& call) {
  return with_body<wire::NodeRequest>(call, [&](const wire::NodeRequest& request) {
    return reply_of(context.platform.change_node(call.caller, call.arguments[0], request));
  });
}

HttpReply rest_tenants(const RestContext& context, const RestCall& call) {
  return reply_of(context.platform.tenants(call.caller));
}

HttpReply rest_tenant(const RestContext& context, const RestCall& call) {
  const auto answer = context.platform.tenants(call.caller);
  if (const auto* const refusal = std::get_if<Refusal>(&answer)) {
    return problem_reply(*refusal);
  }
  const auto& tenants = std::get<wire::TenantList>(answer).tenants();
  const auto found = std::ranges::find(tenants, call.arguments[0], &wire::TenantStatus::name);
  if (found == tenants.end()) {
    return problem_reply(Refusal{.kind = RefusalKind::NotFound,
                                 .message = fmt::format("no tenant '{}'", call.arguments[0])});
  }
  return json_reply(*found);
}

HttpReply rest_set_tenant(const RestContext& context, const RestCall& call) {
  return with_body<wire::TenantStatus>(call, [&](wire::TenantStatus& tenant) {
    if (!tenant.name().empty() && tenant.name() != call.arguments[0]) {
      return problem_reply(
          Refusal{.message = fmt::format("name: expected '{}' as in the path, found '{}'",
                                         call.arguments[0], tenant.name()),
                  .field = "name"});
    }
    tenant.set_name(call.arguments[0]);
    return reply_of(context.platform.set_tenant(call.caller, tenant));
  });
}

HttpReply rest_policy(const RestContext& context, const RestCall& call) {
  return reply_of(context.platform.policy(call.caller));
}

HttpReply rest_set_policy(const RestContext& context, const RestCall& call) {
  return set_policy(context, call, /*is_shadow=*/false);
}

HttpReply rest_set_shadow(const RestContext& context, const RestCall& call) {
  return set_policy(context, call, /*is_shadow=*/true);
}

HttpReply rest_what_if(const RestContext& context, const RestCall& call) {
  return with_body<wire::WhatIfRequest>(call, [&](const wire::WhatIfRequest& request) {
    return reply_of(context.platform.what_if(call.caller, request));
  });
}

HttpReply rest_report(const RestContext& context, const RestCall& call) {
  double since_seconds = 0;
  if (const auto found = call.query.find("since"); found != call.query.end()) {
    const auto seconds = parse_double(found->second);
    if (!seconds || *seconds < 0) {
      return problem_reply(
          Refusal{.message = fmt::format("since: expected seconds, found '{}'", found->second),
                  .field = "since"});
    }
    since_seconds = *seconds;
  }
  return reply_of(context.platform.report(call.caller, since_seconds));
}

}  // namespace rubato
