#include "rubato/runtime/worker/handover.h"

#include <fmt/format.h>

#include "rubato/runtime/communicator.h"

namespace rubato {

Handover handover_among(std::span<const double> notes, std::optional<std::uint64_t> snapshot_step) {
  Handover handover{.is_fresh = true};
  double highest = -1;
  for (std::size_t at = 0; at < notes.size(); at += kNoteLength) {
    if (notes[at + kHasState] != 0 && notes[at + kStep] > highest) {
      highest = notes[at + kStep];
      handover.source = static_cast<int>(at / kNoteLength);
      handover.is_fresh = false;
    }
  }
  if (snapshot_step && static_cast<double>(*snapshot_step) > highest) {
    highest = static_cast<double>(*snapshot_step);
    handover = {.is_fresh = true};
  }
  for (std::size_t at = 0; at < notes.size(); at += kNoteLength) {
    const int rank = static_cast<int>(at / kNoteLength);
    const bool has_state = notes[at + kHasState] != 0;
    const bool is_behind = !has_state || notes[at + kStep] < highest;
    if (rank != handover.source) {
      handover.is_needed = handover.is_needed || is_behind;
      handover.is_careful = handover.is_careful || (has_state && is_behind);
    }
  }
  return handover;
}

bool has_one_state(std::span<const double> notes) {
  const Handover handover = handover_among(notes, std::nullopt);
  if (handover.is_fresh) {
    return true;
  }
  const auto first = static_cast<std::size_t>(handover.source) * kNoteLength;
  for (std::size_t at = 0; at < notes.size(); at += kNoteLength) {
    const bool is_there = notes[at + kHasState] != 0 && notes[at + kStep] == notes[first + kStep];
    if (is_there && notes[at + kHash] != notes[first + kHash]) {
      return false;
    }
  }
  return true;
}

Error parameters_differ(std::uint64_t step) {
  return Error{.code = ErrorCode::BadInput,
               .message = fmt::format("the parameters of the workers differ after step {}: the "
                                      "program does not apply the same update everywhere",
                                      step)};
}

}  // namespace rubato
