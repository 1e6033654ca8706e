#include "rubato/cli/client/what_if_answer.h"

#include "rubato/cli/client/verb_answer.h"
#include "rubato/cli/text/cluster_text.h"
#include "rubato/cli/text/scale_text.h"
#include "rubato/cli/text/wall_clock.h"

namespace rubato {

int ask_what_if(const char* verb, const ClientFlags& flags, const wire::WhatIfRequest& request) {
  return ask_platform<wire::WhatIfReply>(
      verb, flags, {.method = "POST", .target = "/v1/what-if", .body = request_json(request)},
      [&](const wire::WhatIfReply& reply) {
        const WallClock clock = local_wall_clock();
        return scale_text(reply, request.scale(), clock) + what_if_text(reply, clock);
      });
}

}  // namespace rubato
