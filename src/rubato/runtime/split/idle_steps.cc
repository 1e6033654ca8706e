#include "rubato/runtime/split/idle_steps.h"

#include <algorithm>

namespace rubato::runtime::split {

bool wait_and_help(const MessageQueue& requests, const WaitTimes& times,
                   std::span<const WorkTicket> tickets, PieceQueue& pieces, unsigned rank) {
  return wait_for(requests.signal(), /*waiter=*/0, times, [&] {
    while (pieces.do_piece(rank)) {
    }
    return requests.has_message() || std::ranges::any_of(tickets, &WorkTicket::has_work);
  });
}

}  // namespace rubato::runtime::split
