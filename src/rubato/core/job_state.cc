#include "rubato/core/job_state.h"

namespace rubato {

void Usage::advance(Instant moment, int workers) {
  const Duration span = moment - since;
  gpu_seconds += to_seconds(span) * workers;
  (workers > 0 ? executed : waited) += span;
  since = moment;
}

double Usage::gpu_seconds_at(Instant moment, int workers) const {
  return gpu_seconds + to_seconds(moment - since) * workers;
}

}  // namespace rubato
