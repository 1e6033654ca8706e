// Names workers that are slower than the others, from the time each one computes in a step.
//
// Or, Zhang and Freedman (MLSys'20): a rank's speed in relation to the median, averaged with factor
// 0.1, and a straggler is below 0.8. Differences: speeds are of each rank's own samples, since
// shards may be uneven, and averages start from 1, so that no single step can name anyone.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rubato {

/// What a rank did in a step, waiting for others not included.
struct RankCompute {
  std::uint64_t samples = 0;  // None: the step says nothing about this rank.
  double seconds = 0;
};

/// When to call a rank a straggler.
struct StragglerOptions {
  double smoothing = 0.1;      // Weight of the newest step.
  double threshold = 0.8;      // Of the median's speed.
  bool exempts_rank0 = false;  // Or et al. do, since theirs cannot leave.
};

/// Why a rank is called a straggler.
struct StragglerEvidence {
  int rank = 0;
  double relative_speed = 1;  // Averaged, in relation to the median.
  double median_speed = 0;    // Samples per second, in the last step.
  std::uint64_t steps = 0;    // Observed of this rank.

  friend bool operator==(const StragglerEvidence&, const StragglerEvidence&) = default;
};

/// "rank 2 computes at 0.61 of the median speed (120.0 samples/s; 14 steps seen, limit 0.80)".
[[nodiscard]] std::string straggler_text(const StragglerEvidence& evidence,
                                         const StragglerOptions& options);

/// Watches the ranks of one job across its generations.
class StragglerWatch {
 public:
  explicit StragglerWatch(const StragglerOptions& options) : options_(options) {}

  /// The members have changed. `former[i]` is what rank i was before, or -1 if it is new.
  void regroup(std::span<const int> former);

  /// Takes in a step: one entry for each rank, as many as regroup() named (before the first call of
  /// that, all ranks are new).
  void observe(std::span<const RankCompute> step);

  /// In order of rank; valid until the next step.
  [[nodiscard]] std::span<const StragglerEvidence> stragglers() const { return stragglers_; }
  /// Averaged speed of a rank in relation to the median.
  [[nodiscard]] double relative_speed(int rank) const;

 private:
  struct RankRecord {
    double average = 1;
    std::uint64_t steps = 0;
  };

  StragglerOptions options_;
  std::vector<RankRecord> ranks_{};
  std::vector<RankRecord> before_{};  // Kept so that regrouping need not allocate.
  std::vector<double> speeds_{};
  std::vector<StragglerEvidence> stragglers_{};
};

}  // namespace rubato
