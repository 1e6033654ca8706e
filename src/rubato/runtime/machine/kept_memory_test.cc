#include "rubato/runtime/machine/kept_memory.h"

#include <cstdlib>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace rubato {
namespace {

// The C library gives every block of this size a mapping of its own if nobody tells it otherwise.
constexpr std::size_t kBlockBytes = std::size_t{64} << 20U;
constexpr long kBlockPages = kBlockBytes / 4096;

/// How many pages had to be mapped while a block was filled and freed.
long pages_mapped() {
  rusage before{};
  rusage after{};
  ::getrusage(RUSAGE_SELF, &before);
  {
    const std::vector<char> block(kBlockBytes, 'x');
    asm volatile("" : : "r"(block.data()) : "memory");  // Somebody might read it.
  }
  ::getrusage(RUSAGE_SELF, &after);
  return after.ru_minflt - before.ru_minflt;
}

/// True if the condition holds in a process of its own, since the setting is one of the process.
template <typename Condition>
bool holds_elsewhere(const Condition& condition) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(condition() ? 0 : 1);
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

TEST(KeptMemory, IsNotMappedAgain) {
#if defined(__SANITIZE_ADDRESS__) || defined(RUBATO_THREAD_SANITIZER)
  GTEST_SKIP() << "sanitizers have an allocator of their own";
#endif
  EXPECT_TRUE(holds_elsewhere([] {
    const bool is_mapped_at_first = pages_mapped() >= kBlockPages / 2;
    const bool is_kept = keep_freed_memory();
    pages_mapped();
    return is_mapped_at_first && is_kept && pages_mapped() < kBlockPages / 100;
  }));
}

TEST(KeptMemory, LeavesTheChoiceToWhoeverHasMadeOne) {
  for (const auto& [name, value] : {std::pair{"MALLOC_TRIM_THRESHOLD_", "131072"},
                                    std::pair{"GLIBC_TUNABLES", "glibc.malloc.top_pad=4096"}}) {
    EXPECT_TRUE(holds_elsewhere([&] {
      ::setenv(name, value, 1);
      return !keep_freed_memory();
    })) << name;
  }
}

}  // namespace
}  // namespace rubato
