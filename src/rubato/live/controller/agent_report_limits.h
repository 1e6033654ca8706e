// What agents say in numbers, believed only as far as it can be: an agent is another machine, and
// a word of it must not turn the controller's sums into nonsense.
#pragma once

#include "rubato/wire/agent.pb.h"

namespace rubato {

/// Steps as an agent counts them; zero for what is no count.
[[nodiscard]] double sanitized_steps(double said);

/// The report without what cannot be: steps and speeds that are no numbers, workers below none,
/// measurements that do not rise.
[[nodiscard]] wire::JobReport sanitized(wire::JobReport report);
[[nodiscard]] wire::JobEnded sanitized(wire::JobEnded ended);

}  // namespace rubato
