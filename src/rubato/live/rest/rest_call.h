// One call of the REST interface as its function sees it, and how answers are made.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "rubato/http/message.h"
#include "rubato/http/problem.h"
#include "rubato/live/rest/http_metrics.h"
#include "rubato/live/rest/message_json.h"
#include "rubato/live/rest/refusal_reply.h"
#include "rubato/live/service/platform.h"

namespace rubato {

/// What all calls may use. Outlives the server.
struct RestContext {
  Platform& platform;
  HttpMetrics& metrics;
};

/// Lives for one call.
struct RestCall {
  const HttpRequest& request;
  Caller caller{};
  std::vector<std::string> arguments{};  // For the braces of the route's path.
  std::map<std::string, std::string> query{};
};

using RestFunction = HttpReply (*)(const RestContext& context, const RestCall& call);

[[nodiscard]] HttpReply json_reply(const google::protobuf::Message& message, int status = 200);

template <typename T>
[[nodiscard]] HttpReply reply_of(const Answered<T>& answer) {
  if (const auto* const refusal = std::get_if<Refusal>(&answer)) {
    return problem_reply(*refusal);
  }
  return json_reply(std::get<T>(answer));
}

/// The parameter of the query, or `fallback` without it; a Refusal if it is no number in the range.
[[nodiscard]] Answered<std::uint64_t> query_count(const RestCall& call, const std::string& name,
                                                  std::uint64_t fallback, std::uint64_t max);

/// The request's body as a message, given to `then`; or the answer to a bad body.
template <typename T, typename Then>
[[nodiscard]] HttpReply with_body(const RestCall& call, Then then) {
  T message;
  if (const auto refusal = from_json(call.request.body, message)) {
    return problem_reply(*refusal);
  }
  return then(message);
}

}  // namespace rubato
