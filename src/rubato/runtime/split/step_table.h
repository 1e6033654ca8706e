// The parameters of an optimizer step, cut into pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rubato/runtime/split/step_kernel.h"

namespace rubato::runtime::split {

/// One parameter: where it and what belongs to it lies, and which settings it has.
struct StepEntry {
  float* parameter = nullptr;
  float* gradient = nullptr;
  float* first = nullptr;
  float* second = nullptr;
  std::uint64_t area_begin = 0;
  std::uint64_t floats = 0;
  std::uint32_t settings = 0;
};

/// Pieces in the order in which they are handed out: large ones first, so that the last ones to end
/// are short.
class StepTable {
 public:
  [[nodiscard]] static std::size_t piece_count(std::span<const StepEntry> entries);

  /// The pieces lie in `memory` if it is given, which has room for all of them, else here.
  StepTable(std::span<const StepEntry> entries, std::span<StepPiece> memory);

  [[nodiscard]] std::span<const StepPiece> pieces() const { return pieces_; }
  [[nodiscard]] std::uint64_t floats() const { return floats_; }
  [[nodiscard]] std::size_t entries() const { return entries_; }

  /// Other gradients, one for each entry; entries with nothing are left alone.
  void set_gradients(std::span<float* const> gradients);

 private:
  /// Which part of which entry a piece is.
  struct Source {
    std::size_t entry = 0;
    std::size_t begin = 0;
  };

  std::vector<StepPiece> own_{};
  std::vector<Source> sources_{};
  std::span<StepPiece> pieces_{};
  std::uint64_t floats_ = 0;
  std::size_t entries_ = 0;
};

}  // namespace rubato::runtime::split
