#include "rubato/runtime/machine/kept_memory.h"

#include <cstdlib>
#include <malloc.h>
#include <string_view>

namespace rubato {
namespace {

// Somebody has thought about it, and knows better.
bool is_chosen_by_user() {
  for (const char* name : {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_MMAP_MAX_",
                           "MALLOC_TOP_PAD_"}) {
    if (std::getenv(name) != nullptr) {
      return true;
    }
  }
  const char* const tunables = std::getenv("GLIBC_TUNABLES");
  return tunables != nullptr &&
         std::string_view(tunables).find("glibc.malloc.") != std::string_view::npos;
}

}  // namespace

bool keep_freed_memory() {
  if (is_chosen_by_user()) {
    return false;
  }
  // Blocks beyond the first limit have a mapping of their own, which ends with them; what is free
  // beyond the second at the end of the heap is given back.
  const int bytes = static_cast<int>(kKeptBytesMax);
  return ::mallopt(M_MMAP_THRESHOLD, bytes) == 1 && ::mallopt(M_TRIM_THRESHOLD, bytes) == 1;
}

}  // namespace rubato
