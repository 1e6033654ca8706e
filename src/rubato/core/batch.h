// Batch sizes: what a job permits, and how one batch is split over its workers.
#pragma once

namespace rubato {

/// The batch sizes a job can train with; one that permits no other than its own has max 0.
struct BatchLimits {
  int initial = 0;    // Samples; the batch its owner would use on one worker.
  int max = 0;        // Samples over all workers.
  int local_min = 1;  // Samples that one worker takes at a time, at least
  int local_max = 0;  // and at most.

  [[nodiscard]] bool can_adapt() const { return max > 0; }

  friend bool operator==(const BatchLimits&, const BatchLimits&) = default;
};

/// One step of one worker: so many samples at a time, so many times more before gradients are
/// exchanged. Without samples the job trains with the batch its owner gave it.
struct BatchSplit {
  int local = 0;
  int accumulation = 0;

  [[nodiscard]] bool is_own() const { return local == 0; }
  [[nodiscard]] int batch(int workers) const { return workers * local * (accumulation + 1); }

  friend bool operator==(const BatchSplit&, const BatchSplit&) = default;
};

}  // namespace rubato
