// The order in which an epoch uses the samples of a dataset: a function of the seed and the epoch
// alone, so that neither the number of workers nor a restart can change it.
//
// No permutation is stored. A position is sent through a Feistel network over two digits, as in
// Black and Rogaway, "Ciphers with arbitrary finite domains" (2002). The digits span slightly more
// than the dataset; whoever lands outside of it is sent through again until it is inside.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rubato {

/// The order of one epoch; keep it while the epoch lasts, its keys are worth a few positions.
class EpochOrder {
 public:
  static constexpr std::size_t kRoundsMin = 8;
  static constexpr std::size_t kRoundsMax = 24;

  /// The sample at a position; both are below the size of the dataset.
  [[nodiscard]] std::uint64_t at(std::uint64_t position) const;

 private:
  friend struct SampleOrder;
  EpochOrder() = default;

  [[nodiscard]] std::uint64_t sent_through(std::uint64_t number) const;

  std::uint64_t size_ = 0;
  std::uint64_t high_span_ = 1;  // Values of the high digit, and of the low one.
  std::uint64_t low_span_ = 1;
  bool is_shuffled_ = false;
  std::size_t rounds_ = kRoundsMin;
  std::array<std::uint64_t, kRoundsMax> keys_{};
};

/// The orders of all epochs. The numbers it gives are part of every snapshot's meaning and never
/// change between versions.
struct SampleOrder {
  std::uint64_t dataset_size = 1;  // At least one.
  std::uint64_t seed = 0;
  bool is_shuffled = true;  // Otherwise samples are used as they lie.

  [[nodiscard]] EpochOrder epoch(std::uint64_t epoch) const;
  [[nodiscard]] std::uint64_t at(std::uint64_t epoch, std::uint64_t position) const;
};

}  // namespace rubato
