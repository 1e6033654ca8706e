// What clients are told when the platform refuses a request.
#pragma once

#include "rubato/live/http_message.h"
#include "rubato/live/platform.h"

namespace rubato {

[[nodiscard]] int http_status(RefusalKind kind);
[[nodiscard]] HttpReply problem_reply(const Refusal& refusal);

}  // namespace rubato
