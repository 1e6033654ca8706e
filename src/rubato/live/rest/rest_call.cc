#include "rubato/live/rest/rest_call.h"

#include <utility>

#include <fmt/core.h>

#include "rubato/base/parse.h"

namespace rubato {

HttpReply json_reply(const google::protobuf::Message& message, int status) {
  auto text = to_json(message);
  if (!text) {
    return problem_reply(500, "the answer cannot be written as JSON: " + text.error().message);
  }
  HttpReply reply;
  reply.status = status;
  reply.content_type = "application/json";
  reply.body = std::move(*text) + "\n";
  return reply;
}

Answered<std::uint64_t> query_count(const RestCall& call, const std::string& name,
                                    std::uint64_t fallback, std::uint64_t max) {
  const auto found = call.query.find(name);
  if (found == call.query.end()) {
    return fallback;
  }
  const auto number = parse_int(found->second);
  if (!number || *number < 0 || static_cast<std::uint64_t>(*number) > max) {
    return Refusal{.message = fmt::format("{}: expected a whole number from 0 to {}, found '{}'",
                                          name, max, found->second),
                   .field = name};
  }
  return static_cast<std::uint64_t>(*number);
}

}  // namespace rubato
