// "What if?" of the live platform: its position played on by the simulator, as it is and changed.
#pragma once

#include "rubato/live/service/service.h"

namespace rubato {

/// As WhatIf wants it; a Refusal if the change leaves no node, or names one, a job or a policy that
/// is not there.
[[nodiscard]] Answered<wire::WhatIfReply> play_what_if(const LivePosition& position,
                                                       const wire::WhatIfRequest& request);

}  // namespace rubato
