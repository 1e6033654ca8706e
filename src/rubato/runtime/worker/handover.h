// What ranks tell each other beside their gradients, and who hands its state to whom when they
// enter a generation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "rubato/base/result.h"

namespace rubato {

// Places in a rank's note.
constexpr std::size_t kVote = 0;      // In a step: the generation it could switch to.
constexpr std::size_t kHasState = 0;  // On entering: 1 if it has trained.
constexpr std::size_t kStep = 1;
constexpr std::size_t kLoss = 2;     // Of its samples, summed.
constexpr std::size_t kBatch = 3;    // What rank 0 proposes for the steps to come; 0: no change.
constexpr std::size_t kSeconds = 4;  // That it computed.
constexpr std::size_t kHash = 5;     // Of its parameters, if they are compared now.
constexpr std::size_t kTag = 6;      // Of the rest of its state, as the program gives it.

/// Who gives.
struct Handover {
  int source = 0;
  bool is_needed = false;
  bool is_fresh = false;    // Rank 0 must make the state first: from the snapshot, or anew.
  bool is_careful = false;  // Someone who is behind has a state to lose.
};

/// The highest step wins: a survivor may have committed a step that another one has not. The
/// snapshot counts only where nobody has come as far.
[[nodiscard]] Handover handover_among(std::span<const double> notes,
                                      std::optional<std::uint64_t> snapshot_step);

/// True if all who stand at the highest step have the same parameters. Nobody else has a say: who
/// is behind is handed theirs.
[[nodiscard]] bool has_one_state(std::span<const double> notes);

/// What a worker ends with that has other parameters than its peers.
[[nodiscard]] Error parameters_differ(std::uint64_t step);

}  // namespace rubato
