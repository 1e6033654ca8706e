// What steps cost, for each shape a job has had: running means that leave out the first step after
// every change, which pays for warming up (Or, Zhang and Freedman, MLSys'20).
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

namespace rubato {

/// What the duration of a step depends on.
struct StepShape {
  int workers = 1;
  int nodes = 1;
  std::uint64_t batch = 1;  // Of all workers together.

  friend auto operator<=>(const StepShape&, const StepShape&) = default;
};

/// Where one step's time went; what is in none of the parts was spent on everything else.
struct StepSeconds {
  double total = 0;
  double compute = 0;
  double communication = 0;
  double data_wait = 0;
};

/// The mean of a shape's steps.
struct ShapeProfile {
  StepShape shape{};
  std::uint64_t steps = 0;  // That were counted; at least one.
  StepSeconds mean{};

  [[nodiscard]] double steps_per_second() const { return 1 / mean.total; }
  [[nodiscard]] double samples_per_second() const {
    return static_cast<double>(shape.batch) / mean.total;
  }
};

/// All shapes of one job.
class StepProfile {
 public:
  /// A step of a new shape, or the first after changed(), is not counted; nor is one whose total
  /// is not a positive number.
  void add(const StepShape& shape, const StepSeconds& seconds);
  /// The members have changed, though perhaps not their number.
  void changed() { skips_next_ = true; }

  /// Begins anew without leaving out another step.
  void forget_shapes() { shapes_.clear(); }

  /// Nothing if no step of this shape was counted.
  [[nodiscard]] const ShapeProfile* find(const StepShape& shape) const;
  /// In order of shape.
  [[nodiscard]] std::span<const ShapeProfile> shapes() const { return shapes_; }

 private:
  std::vector<ShapeProfile> shapes_{};
  StepShape last_{};
  bool skips_next_ = true;
};

}  // namespace rubato
