// What clients are told when the platform refuses a request.
#pragma once

#include "rubato/http/message.h"
#include "rubato/live/service/platform.h"

namespace rubato {

[[nodiscard]] int http_status(RefusalKind kind);
[[nodiscard]] HttpReply problem_reply(const Refusal& refusal);

}  // namespace rubato
