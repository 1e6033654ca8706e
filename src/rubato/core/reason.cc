#include "rubato/core/reason.h"

namespace rubato {

std::string_view to_string(Reason reason) {
  switch (reason) {
    case Reason::None:
      return "none";
    case Reason::UnknownSpeed:
      return "unknown_speed";
    case Reason::TooWide:
      return "too_wide";
    case Reason::DeadlinePassed:
      return "deadline_passed";
    case Reason::DeadlineTooSoon:
      return "deadline_too_soon";
    case Reason::PromisesInTheWay:
      return "promises_in_the_way";
    case Reason::ResizeCostInTheWay:
      return "resize_cost_in_the_way";
    case Reason::BatchRefused:
      return "batch_refused";
    case Reason::LateJobVeto:
      return "late_job_veto";
    case Reason::PriceTooHigh:
      return "price_too_high";
    case Reason::WaitingForGpus:
      return "waiting_for_gpus";
    case Reason::WaitingForTurn:
      return "waiting_for_turn";
    case Reason::NodesDown:
      return "nodes_down";
    case Reason::QuotaFull:
      return "quota_full";
    case Reason::PriceDeclined:
      return "price_declined";
  }
  return "?";
}

std::string_view sentence(Reason reason) {
  switch (reason) {
    case Reason::None:
      return "Nothing is in its way.";
    case Reason::UnknownSpeed:
      return "No GPU type of this cluster has a known speed for its model and batch.";
    case Reason::TooWide:
      return "It needs more workers than the cluster has GPUs.";
    case Reason::DeadlinePassed:
      return "Its deadline is over before it could start.";
    case Reason::DeadlineTooSoon:
      return "Even alone on the empty cluster it would finish after its deadline.";
    case Reason::PromisesInTheWay:
      return "It would be in time alone, but not beside what is already promised to others.";
    case Reason::ResizeCostInTheWay:
      return "It would fit, but the pause of fitting it in would break an older promise.";
    case Reason::BatchRefused:
      return "It arrived in one round with a job that could not be admitted.";
    case Reason::LateJobVeto:
      return "A job that is already late kept the planner from admitting anyone.";
    case Reason::PriceTooHigh:
      return "It is worth less than what the GPU time it needs costs now.";
    case Reason::WaitingForGpus:
      return "Jobs ahead of it hold the GPUs.";
    case Reason::WaitingForTurn:
      return "Its plan starts later, and its deadline allows the wait.";
    case Reason::NodesDown:
      return "Nodes it counted on are down.";
    case Reason::QuotaFull:
      return "The GPUs guaranteed to its tenant are in use, or fewer than it needs.";
    case Reason::PriceDeclined:
      return "Its owner did not accept the price.";
  }
  return "";
}

}  // namespace rubato
