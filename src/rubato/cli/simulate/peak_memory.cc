#include "rubato/cli/simulate/peak_memory.h"

#include <sys/resource.h>

namespace rubato {

std::int64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace rubato
