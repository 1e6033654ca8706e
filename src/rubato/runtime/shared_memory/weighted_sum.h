// The arithmetic of a reduction: weight times source, added up in a balanced binary tree whose
// shape depends on the number of sources alone, with the squares on the side.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace rubato {

/// Which instructions to use; the results are the same bits.
enum class SumKind { Portable, Avx2 };

/// The quickest kind that this processor has.
[[nodiscard]] SumKind quickest_sum_kind();

/// What is added up, and where it goes. Sources may be destinations as well.
struct SumRequest {
  std::span<const float* const> sources{};
  std::span<const float> weights{};        // One for each source.
  std::span<float* const> destinations{};  // Each gets all of the sum.
  std::span<double> squares{};  // Empty, or the squared length of each source, then of the sum.
  std::size_t measured_end = ~std::size_t{0};  // Floats from here on do not count in the squares.
};

/// Adds up ranges of floats; keeps what memory that takes. Squares are taken in single precision
/// in short runs, so elements beyond 1e19 make them infinite and elements below 1e-19 do not count.
class WeightedSum {
 public:
  explicit WeightedSum(SumKind kind = quickest_sum_kind());

  /// Sums the floats begin to end of every source. Squares are set, not added to.
  void run(const SumRequest& request, std::size_t begin, std::size_t end);

 private:
  void run_blocks(const SumRequest& request, std::size_t begin, std::size_t end);
  void run_block(const SumRequest& request, std::size_t begin, std::size_t floats);
  void add_up(const SumRequest& part, std::size_t begin, std::size_t floats, std::size_t depth);
  [[nodiscard]] float* scratch(std::size_t depth);

  SumKind kind_;
  std::vector<float> scratch_{};  // One block for each depth of the tree.
};

}  // namespace rubato
