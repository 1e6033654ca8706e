// Why a job was refused, or why it does not run: one taxonomy for quotes, verdicts and `why`.
#pragma once

#include <string_view>

namespace rubato {

enum class Reason {
  None,
  UnknownSpeed,        // No GPU type of this cluster has a speed for the job's model and batch.
  TooWide,             // Needs more workers than the cluster has GPUs.
  DeadlinePassed,      // The deadline is not after the earliest possible start.
  DeadlineTooSoon,     // Even alone on the empty cluster it would be late.
  PromisesInTheWay,    // Feasible alone, but not beside what is already promised.
  ResizeCostInTheWay,  // Would fit, but the pause of fitting it in breaks an older promise.
  BatchRefused,        // Arrived together with a job that could not be admitted (artifact only).
  LateJobVeto,         // A late job elsewhere made the planner refuse everyone (artifact only).
  PriceTooHigh,        // Worth less than the GPU time it needs costs now.
  WaitingForGpus,      // Queued: jobs ahead of it hold the GPUs.
  WaitingForTurn,      // Planned to start later; its deadline allows the wait.
  NodesDown,           // GPUs it counted on are gone.
  QuotaFull,           // Its tenant's guaranteed GPUs are in use, or too few for it.
  PriceDeclined,       // Its owner did not pay what was asked.
};

inline constexpr int kReasons = static_cast<int>(Reason::PriceDeclined) + 1;

/// A stable word for machines, such as `promises_in_the_way`.
[[nodiscard]] std::string_view to_string(Reason reason);
/// One sentence for people.
[[nodiscard]] std::string_view sentence(Reason reason);

}  // namespace rubato
