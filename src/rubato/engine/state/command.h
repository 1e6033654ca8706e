// What an engine asks its driver to do.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "rubato/base/time.h"
#include "rubato/core/batch.h"
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
  BatchSplit split{};
};

/// Train on with another batch; the workers stay as they are.
struct Rebatch {
  JobId job{};
  BatchSplit split{};
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

/// Send a Tick at this moment, in place of any earlier wish; kNever sends none. A Tick at or after
/// the moment uses the wish up.
struct Wake {
  Instant at = kNever;
};

/// Something impossible: a decision of the policy, which is then dropped and the old shares stay,
/// or an event about a node that is not there or a job that is there already. A bug of ours: the
/// simulator stops on it, a live controller tells its operator.
struct Alarm {
  std::string fault{};
};

using Command = std::variant<Answer, Run, Rebatch, Suspend, Stall, Wake, Alarm>;
using Commands = std::vector<Command>;

}  // namespace rubato
