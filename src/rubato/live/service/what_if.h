// Questions about another course of things: the position that is played on, and how an answer is
// read. Who plays it is given from outside: the simulator is above this folder.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/base/time.h"
#include "rubato/core/job.h"
#include "rubato/live/controller/live_node.h"
#include "rubato/live/service/platform.h"

namespace rubato {

/// The jobs and machines of one moment, for whoever can play on from there.
struct LivePosition {
  Instant now{};
  std::string policy{};
  std::vector<LiveNode> nodes{};        // That are up.
  std::vector<Job> jobs{};              // Active ones, with the work that is left, as they arrived.
  std::map<JobId, Instant> promised{};  // Of the jobs that were promised something.
};

/// Plays a position on, changed as asked. Runs on a thread of the caller.
using WhatIf = std::function<Answered<wire::WhatIfReply>(const LivePosition& position,
                                                         const wire::WhatIfRequest& request)>;

/// Takes these jobs out of an answer and leaves only how many of them would be hurt or helped.
void hide_jobs(const std::set<JobId>& hidden, wire::WhatIfReply& reply);

/// How many positions may be played at once: each keeps a core busy and a thread of the server.
class PlayLimit {
 public:
  /// False: too many are being played.
  [[nodiscard]] bool enter();
  void leave() { --plays_; }

 private:
  std::atomic<int> plays_ = 0;
};

}  // namespace rubato
