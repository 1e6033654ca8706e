#include "rubato/live/http_problem.h"

#include <string>

#include <nlohmann/json.hpp>

#include "rubato/live/http_reply_text.h"

namespace rubato {

HttpReply problem_reply(int status, const std::string& detail) {
  return problem_reply(status, Refusal{.message = detail});
}

HttpReply problem_reply(int status, const Refusal& refusal) {
  using Json = nlohmann::ordered_json;
  Json problem = {{"type", "about:blank"},
                  {"title", std::string(status_words(status))},
                  {"status", status},
                  {"detail", refusal.message}};
  if (!refusal.field.empty()) {
    problem["field"] = refusal.field;
  }
  if (!refusal.suggestion.empty()) {
    problem["suggestion"] = refusal.suggestion;
  }
  HttpReply reply;
  reply.status = status;
  reply.content_type = "application/problem+json";
  reply.body = problem.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (status == 503) {
    reply.headers.emplace_back("Retry-After", "1");
  }
  return reply;
}

int http_status(RefusalKind kind) {
  switch (kind) {
    case RefusalKind::BadRequest:
      return 400;
    case RefusalKind::NotPermitted:
      return 403;
    case RefusalKind::NotFound:
      return 404;
    case RefusalKind::Conflict:
      return 409;
    case RefusalKind::Infeasible:
      return 422;
    case RefusalKind::Unavailable:
      return 503;
  }
  return 500;
}

HttpReply problem_reply(const Refusal& refusal) {
  return problem_reply(http_status(refusal.kind), refusal);
}

}  // namespace rubato
