#include "rubato/core/job.h"

#include <algorithm>

namespace rubato {

std::string_view to_string(JobClass job_class) {
  switch (job_class) {
    case JobClass::Slo:
      return "slo";
    case JobClass::Soft:
      return "soft";
    case JobClass::BestEffort:
      return "best_effort";
  }
  return "?";
}

bool WorkerCounts::allows(int workers) const {
  if (workers < min || workers > max) {
    return false;
  }
  return listed.empty() || std::ranges::binary_search(listed, workers);
}

}  // namespace rubato
