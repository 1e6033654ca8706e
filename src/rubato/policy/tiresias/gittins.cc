#include "rubato/policy/tiresias/gittins.h"

#include <algorithm>

namespace rubato::policy::tiresias {

GittinsIndex::GittinsIndex(std::span<const double> sizes) : sizes_(sizes.begin(), sizes.end()) {
  std::ranges::sort(sizes_);
  sums_.reserve(sizes_.size() + 1);
  sums_.push_back(0);
  for (const double size : sizes_) {
    sums_.push_back(sums_.back() + size);
  }
}

double GittinsIndex::at(double attained) const {
  const auto above = std::ranges::upper_bound(sizes_, attained);
  const auto first = static_cast<std::size_t>(above - sizes_.begin());
  double best = 0;
  for (std::size_t last = first; last < sizes_.size(); ++last) {
    // Serve up to sizes_[last]: `ended` jobs are through by then, the others cost the whole step.
    const double ended = static_cast<double>(last + 1 - first);
    const double going = static_cast<double>(sizes_.size() - last - 1);
    const double cost =
        sums_[last + 1] - sums_[first] - ended * attained + going * (sizes_[last] - attained);
    best = std::max(best, ended / cost);
  }
  return best;
}

}  // namespace rubato::policy::tiresias
