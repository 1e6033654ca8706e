// The first line of the input is a method and a target, the rest a body: the whole interface but
// the sockets must answer it sensibly, and a body that is accepted must survive being written and
// read.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <google/protobuf/message.h>
#include <google/protobuf/util/message_differencer.h>
#include <nlohmann/json.hpp>

#include "rubato/base/check.h"
#include "rubato/live/rest/json_schema.h"
#include "rubato/live/rest/message_json.h"
#include "rubato/live/rest/rest_api.h"
#include "rubato/live/service/memory_platform_test.h"

namespace {

void check_body(const std::string& body, std::string_view name) {
  const auto& descriptor = rubato::platform_message(name);
  const auto& blank =
      *google::protobuf::MessageFactory::generated_factory()->GetPrototype(&descriptor);
  const std::unique_ptr<google::protobuf::Message> message(blank.New());
  if (const auto refusal = rubato::from_json(body, *message)) {
    RUBATO_CHECK(!refusal->message.empty());
    return;
  }
  const auto text = rubato::to_json(*message);
  RUBATO_CHECK(text.ok());
  const std::unique_ptr<google::protobuf::Message> again(blank.New());
  RUBATO_CHECK(!rubato::from_json(*text, *again).has_value());
  RUBATO_CHECK(google::protobuf::util::MessageDifferencer::Equals(*message, *again));
}

void check_reply(const rubato::HttpReply& reply) {
  RUBATO_CHECK(reply.status >= 200 && reply.status < 600 && reply.status != 500);
  if (reply.content_type.find("json") != std::string::npos) {
    RUBATO_CHECK(nlohmann::json::accept(reply.body));
  }
  if (reply.status >= 400) {
    RUBATO_CHECK(reply.content_type == "application/problem+json");
    RUBATO_CHECK(nlohmann::json::parse(reply.body).at("status") == reply.status);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  const std::size_t line = std::min(text.find('\n'), text.size());
  const std::size_t space = std::min(text.find(' '), line);
  const std::string body = line < text.size() ? text.substr(line + 1) : "";

  for (const rubato::RestRoute& route : rubato::rest_routes()) {
    if (!route.body.empty()) {
      check_body(body, route.body);
    }
  }
  rubato::MemoryPlatform platform;
  rubato::RestApi api(platform, {});
  check_reply(api.handle({.method = text.substr(0, space),
                          .target = space < line ? text.substr(space + 1, line - space - 1) : "",
                          .headers = {{"host", "localhost"}, {"content-type", "application/json"}},
                          .body = body}));
  return 0;
}
