// The Gittins index: how promising it is to serve a job on, given the sizes of jobs seen so far.
//
// Tiresias (NSDI'19, section 3.2): G(a) = sup over d of P(S - a <= d | S > a) / E[min(S - a, d) |
// S > a], where S is the service a job needs in all and a what this one has had. The higher, the
// sooner it should run.
#pragma once

#include <span>
#include <vector>

namespace rubato::policy::tiresias {

/// Of a finite history; the supremum is then a maximum over its sizes.
class GittinsIndex {
 public:
  GittinsIndex() = default;
  /// Sizes in any order and unit.
  explicit GittinsIndex(std::span<const double> sizes);

  /// Per unit of size; zero if no job of the history needed more than this.
  [[nodiscard]] double at(double attained) const;

 private:
  std::vector<double> sizes_;  // Rising.
  std::vector<double> sums_;   // sums_[i] = sizes_[0] + ... + sizes_[i - 1].
};

}  // namespace rubato::policy::tiresias
