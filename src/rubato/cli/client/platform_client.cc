#include "rubato/cli/client/platform_client.h"

#include <utility>

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include "rubato/cli/process/exit_code.h"

namespace rubato {

int exit_code_of_status(int status) {
  switch (status) {
    case 400:
    case 409:
    case 413:
    case 415:
      return kExitBadInput;
    case 401:
    case 403:
      return kExitNotPermitted;
    case 404:
      return kExitNotFound;
    case 422:
      return kExitRefused;
    case 429:
    case 503:
      return kExitNoServer;
    default:
      return kExitBug;
  }
}

CallFailure failure_of(const WebReply& reply) {
  CallFailure failure{.exit_code = exit_code_of_status(reply.status)};
  if (read_answer(reply.body, failure.problem) && !failure.problem.detail().empty()) {
    const wire::Problem& problem = failure.problem;
    const bool is_named =
        problem.field().empty() || problem.detail().find(problem.field()) != std::string::npos;
    failure.message = fmt::format(
        "{}{}{}", is_named ? "" : problem.field() + ": ", problem.detail(),
        problem.suggestion().empty() ? ""
                                     : fmt::format("; did you mean '{}'?", problem.suggestion()));
    return failure;
  }
  failure.problem.Clear();
  failure.message = fmt::format("the server answered {} without saying why", reply.status);
  return failure;
}

CallFailure failure_of(const Error& error) {
  return {.exit_code = error.code == ErrorCode::Io ? kExitNoServer : exit_code(error.code),
          .message = error.message};
}

std::string request_json(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(message, &text, options);
  return status.ok() ? text : std::string{};
}

Status read_answer(const std::string& json, google::protobuf::Message& message) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const auto status = google::protobuf::util::JsonStringToMessage(json, &message, options);
  if (!status.ok()) {
    return bad_input(
        fmt::format("the server's answer cannot be read: {}", std::string(status.message())));
  }
  return ok_status();
}

Result<PlatformClient> PlatformClient::open(const ClientFlags& flags) {
  auto options = web_options(flags);
  if (!options) {
    return options.error();
  }
  return PlatformClient(*std::move(options));
}

std::optional<CallFailure> PlatformClient::call(const WebCall& call,
                                                google::protobuf::Message& answer) {
  auto reply = web_.send(call);
  if (!reply) {
    return failure_of(reply.error());
  }
  if (reply->status < 200 || reply->status >= 300) {
    json_ = reply->body;
    return failure_of(*reply);
  }
  if (const Status read = read_answer(reply->body, answer); !read) {
    return CallFailure{.exit_code = kExitBug, .message = read.error().message};
  }
  json_ = std::move(reply->body);
  if (!json_.ends_with('\n')) {
    json_ += '\n';
  }
  return std::nullopt;
}

std::optional<CallFailure> PlatformClient::get(const std::string& target,
                                               google::protobuf::Message& answer) {
  return call({.target = target}, answer);
}

std::optional<CallFailure> PlatformClient::post(const std::string& target,
                                                const google::protobuf::Message& body,
                                                google::protobuf::Message& answer) {
  return call({.method = "POST", .target = target, .body = request_json(body)}, answer);
}

std::string job_target(const std::string& job, const std::string& rest) {
  return "/v1/jobs/" + url_escaped(job) + rest;
}

}  // namespace rubato
