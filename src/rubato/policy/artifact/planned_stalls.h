// Moments at which every running job stops for a while, under the artifact's accounting.
#pragma once

#include <algorithm>
#include <vector>

#include "rubato/base/time.h"

namespace rubato::policy::artifact {

/// Rising moments with the pauses they cost; sums over a stretch in logarithmic time.
class PlannedStalls {
 public:
  void add(Instant at, Duration pause) {
    moments_.push_back(at);
    total_.push_back((total_.empty() ? Duration{} : total_.back()) + pause);
  }
  [[nodiscard]] bool empty() const { return moments_.empty(); }
  [[nodiscard]] std::size_t size() const { return moments_.size(); }
  /// All pauses strictly after `from` and before `to`.
  [[nodiscard]] Duration within(Instant from, Instant to) const {
    return before(std::ranges::lower_bound(moments_, to)) -
           before(std::ranges::upper_bound(moments_, from));
  }

  friend bool operator==(const PlannedStalls&, const PlannedStalls&) = default;

 private:
  [[nodiscard]] Duration before(std::vector<Instant>::const_iterator end) const {
    return end == moments_.begin() ? Duration{}
                                   : total_[static_cast<std::size_t>(end - moments_.begin()) - 1];
  }

  std::vector<Instant> moments_;
  std::vector<Duration> total_;  // Pauses up to and including each moment.
};

}  // namespace rubato::policy::artifact
