// What an engine asks its driver to do.
#pragma once

#include <string>
#include <variant>

#include "rubato/base/time.h"
#include "rubato/core/decision.h"
#include "rubato/core/ids.h"
#include "rubato/core/placement.h"

namespace rubato {

/// Tell the owner: admitted, refused, demoted.
struct Answer {
  Verdict verdict{};
};

/// Give the job exactly these GPUs from now on: start, resume, resize or move, whichever it is.
struct Run {
  JobId job{};
  Placement placement{};
  Duration pause{};  // Expected time without progress.
};

/// Take all workers away; the job keeps what it has done.
struct Suspend {
  JobId job{};
};

/// An unchanged job stops for a while (the artifact's accounting only).
struct Stall {
  JobId job{};
  Duration pause{};
};

/// Send a Tick at this moment, in place of any earlier wish; kNever sends none.
struct Wake {
  Instant at = kNever;
};

/// The policy asked for something impossible; its decision was dropped and the old shares stay. A
/// bug of ours: the simulator stops on it, a live controller tells its operator.
struct Alarm {
  std::string fault{};
};

using Command = std::variant<Answer, Run, Suspend, Stall, Wake, Alarm>;

}  // namespace rubato
