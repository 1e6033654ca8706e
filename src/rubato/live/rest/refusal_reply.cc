#include "rubato/live/rest/refusal_reply.h"

#include "rubato/http/problem.h"

namespace rubato {

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
  return problem_reply(
      http_status(refusal.kind),
      {.detail = refusal.message, .field = refusal.field, .suggestion = refusal.suggestion});
}

}  // namespace rubato
