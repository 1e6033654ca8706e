// What a replica does while it waits: it helps with the optimizer's step.
#pragma once

#include <span>

#include "rubato/runtime/split/idle_wait.h"
#include "rubato/runtime/split/mailbox.h"
#include "rubato/runtime/split/piece_queue.h"
#include "rubato/runtime/split/spin_budget.h"

namespace rubato::runtime::split {

/// As `wait_for_request_or_work`, and meanwhile does pieces as `rank` whenever there are some.
/// Whoever publishes a step raises the queue's signal afterwards.
[[nodiscard]] bool wait_and_help(const MessageQueue& requests, SpinBudget& budget,
                                 std::chrono::microseconds timeout,
                                 std::span<const WorkTicket> tickets, PieceQueue& pieces,
                                 unsigned rank);

}  // namespace rubato::runtime::split
