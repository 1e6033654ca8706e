#include "rubato/http/problem.h"

#include <string>

#include <nlohmann/json.hpp>

#include "rubato/http/reply_text.h"

namespace rubato {

HttpReply problem_reply(int status, const std::string& detail) {
  return problem_reply(status, Problem{.detail = detail});
}

HttpReply problem_reply(int status, const Problem& problem) {
  using Json = nlohmann::ordered_json;
  Json json = {{"type", "about:blank"},
               {"title", std::string(status_words(status))},
               {"status", status},
               {"detail", problem.detail}};
  if (!problem.field.empty()) {
    json["field"] = problem.field;
  }
  if (!problem.suggestion.empty()) {
    json["suggestion"] = problem.suggestion;
  }
  HttpReply reply;
  reply.status = status;
  reply.content_type = "application/problem+json";
  reply.body = json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (status == 503) {
    reply.headers.emplace_back("Retry-After", "1");
  }
  return reply;
}

}  // namespace rubato
