#include "rubato/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace rubato {

void check_failed(const char* claim, const char* file, int line) {
  std::fprintf(stderr, "rubato: bug: '%s' does not hold at %s:%d\n", claim, file, line);
  std::abort();
}

}  // namespace rubato
