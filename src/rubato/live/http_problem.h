// What clients are told when a request is not carried out: RFC 9457.
#pragma once

#include <string>

#include "rubato/live/http_message.h"
#include "rubato/live/platform.h"

namespace rubato {

/// `application/problem+json`; bad bytes in the texts are replaced.
[[nodiscard]] HttpReply problem_reply(int status, const std::string& detail);
[[nodiscard]] HttpReply problem_reply(int status, const Refusal& refusal);

[[nodiscard]] int http_status(RefusalKind kind);
[[nodiscard]] HttpReply problem_reply(const Refusal& refusal);

}  // namespace rubato
