#include "rubato/live/rest/openapi.h"
#include "rubato/live/rest/rest_functions.h"
#include "rubato/policy/registry.h"

namespace rubato {
namespace {

HttpReply text_reply(int status, std::string text) {
  HttpReply reply;
  reply.status = status;
  reply.content_type = "text/plain; charset=utf-8";
  reply.body = std::move(text);
  return reply;
}

}  // namespace

HttpReply rest_version(const RestContext& context, const RestCall& /*call*/) {
  return json_reply(context.platform.version());
}

HttpReply rest_me(const RestContext& /*context*/, const RestCall& call) {
  wire::CallerReply reply;
  reply.set_user(call.caller.user);
  reply.set_tenant(call.caller.tenant);
  reply.set_role(std::string(to_string(call.caller.role)));
  return json_reply(reply);
}

HttpReply rest_policies(const RestContext& /*context*/, const RestCall& /*call*/) {
  wire::PolicyList list;
  for (const PolicyInfo& info : all_policies()) {
    wire::PolicyEntry& entry = *list.add_policies();
    entry.set_name(std::string(info.name));
    entry.set_paper(std::string(info.paper));
    entry.set_fidelity(std::string(info.fidelity));
    entry.set_objective(std::string(info.objective));
    entry.set_needs(std::string(info.needs));
    entry.set_use_when(std::string(info.use_when));
    entry.set_options(std::string(info.options));
  }
  return json_reply(list);
}

HttpReply rest_openapi(const RestContext& /*context*/, const RestCall& /*call*/) {
  HttpReply reply;
  reply.content_type = "application/json";
  reply.body = openapi_document();
  return reply;
}

HttpReply rest_alive(const RestContext& /*context*/, const RestCall& /*call*/) {
  return text_reply(200, "ok\n");
}

HttpReply rest_ready(const RestContext& context, const RestCall& /*call*/) {
  return context.platform.is_ready() ? text_reply(200, "ready\n")
                                     : problem_reply(503, "the platform is not ready yet");
}

HttpReply rest_metrics(const RestContext& context, const RestCall& /*call*/) {
  HttpReply reply = text_reply(200, context.platform.metrics() + context.metrics.text());
  reply.content_type = "text/plain; version=0.0.4; charset=utf-8";
  return reply;
}

}  // namespace rubato
