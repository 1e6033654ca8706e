// The platform as the command line sees it: messages out, messages in, and failures as exit codes.
#pragma once

#include <optional>
#include <string>

#include "rubato/cli/client/client_flags.h"
#include "rubato/http/client.h"
#include "rubato/wire/platform.pb.h"

namespace google::protobuf {
class Message;
}

namespace rubato {

/// Why there is no answer, in the terms of the shell.
struct CallFailure {
  int exit_code = 0;
  std::string message{};
  wire::Problem problem{};  // If the server said so itself.
};

/// 400 and 409: bad input; 401 and 403: not permitted; 404: not found; 422: refused; 503: no
/// server; else a bug.
[[nodiscard]] int exit_code_of_status(int status);
/// From an answer that is no success.
[[nodiscard]] CallFailure failure_of(const WebReply& reply);
[[nodiscard]] CallFailure failure_of(const Error& error);

/// One line of JSON, field names as in platform.proto.
[[nodiscard]] std::string request_json(const google::protobuf::Message& message);
/// Fields that we do not know are left out: the server may be newer.
[[nodiscard]] Status read_answer(const std::string& json, google::protobuf::Message& message);

class PlatformClient {
 public:
  [[nodiscard]] static Result<PlatformClient> open(const ClientFlags& flags);

  /// Nothing if all went well.
  [[nodiscard]] std::optional<CallFailure> call(const WebCall& call,
                                                google::protobuf::Message& answer);
  [[nodiscard]] std::optional<CallFailure> get(const std::string& target,
                                               google::protobuf::Message& answer);
  [[nodiscard]] std::optional<CallFailure> post(const std::string& target,
                                                const google::protobuf::Message& body,
                                                google::protobuf::Message& answer);

  /// The last answer as it came.
  [[nodiscard]] const std::string& json() const { return json_; }
  [[nodiscard]] const WebOptions& options() const { return options_; }

 private:
  explicit PlatformClient(WebOptions options) : options_(options), web_(std::move(options)) {}

  WebOptions options_;
  WebClient web_;
  std::string json_{};
};

/// `/v1/jobs/42`, then `rest` such as `/why`.
[[nodiscard]] std::string job_target(const std::string& job, const std::string& rest = "");

}  // namespace rubato
