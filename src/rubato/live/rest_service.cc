#include "rubato/live/openapi.h"
#include "rubato/live/rest_functions.h"

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
