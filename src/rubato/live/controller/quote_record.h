// How far past quotes were from what happened.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace rubato {

/// |actual - quoted finish| over the quoted duration, of the last jobs that ended. Statuses ask for
/// it far more often than jobs end, so what they ask for is kept.
class QuoteRecord {
 public:
  static constexpr std::size_t kKept = 1'000;

  void add(double error) {
    if (errors_.size() == kKept) {
      errors_.erase(errors_.begin());
    }
    errors_.push_back(error);
    std::vector<double> sorted = errors_;
    std::ranges::sort(sorted);
    median_ = at_share(sorted, 0.5);
    p90_ = at_share(sorted, 0.9);
  }

  [[nodiscard]] const std::vector<double>& errors() const { return errors_; }
  /// The errors below which half, and nine tenths, of them lie; zero without any.
  [[nodiscard]] double median() const { return median_; }
  [[nodiscard]] double p90() const { return p90_; }

 private:
  [[nodiscard]] static double at_share(const std::vector<double>& sorted, double share) {
    const auto last = static_cast<double>(sorted.size() - 1);
    return sorted[static_cast<std::size_t>(std::ceil(share * last))];
  }

  std::vector<double> errors_{};  // In the order they came.
  double median_ = 0;
  double p90_ = 0;
};

}  // namespace rubato
