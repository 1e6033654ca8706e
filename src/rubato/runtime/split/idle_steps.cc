#include "rubato/runtime/split/idle_steps.h"

#include <algorithm>

namespace rubato::runtime::split {

bool wait_and_help(const MessageQueue& requests, SpinBudget& budget,
                   std::chrono::microseconds timeout, std::span<const WorkTicket> tickets,
                   PieceQueue& pieces, unsigned rank) {
  bool is_there = false;
  bool has_helped = true;
  // After a step another wait begins: for the next batch.
  while (has_helped && !is_there) {
    has_helped = false;
    const auto is_ready = [&] {
      while (pieces.do_piece(rank)) {
        has_helped = true;
      }
      is_there = requests.has_message() || std::ranges::any_of(tickets, &WorkTicket::has_work);
      return is_there || has_helped;
    };
    budget.wait([&](std::chrono::microseconds spin) {
      return wait_for(requests.signal(), /*waiter=*/0, {.spin = spin, .timeout = timeout},
                      is_ready);
    });
  }
  return is_there;
}

}  // namespace rubato::runtime::split
