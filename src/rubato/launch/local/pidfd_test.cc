#include "rubato/launch/local/pidfd.h"

#include <sys/wait.h>

#include "rubato/launch/local/process_scene_test.h"

namespace rubato {
namespace {

TEST(Pidfd, SignalsAProcessUntilItIsGone) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(1);
  }
  const Descriptor pidfd = open_pidfd(child);
  ASSERT_TRUE(pidfd.is_open());

  EXPECT_TRUE(signal_pidfd(pidfd.get(), SIGTERM));
  wait_readable(pidfd.get());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);

  EXPECT_EQ(WTERMSIG(status), SIGTERM);
  EXPECT_FALSE(signal_pidfd(pidfd.get(), SIGTERM));
  EXPECT_FALSE(open_pidfd(child).is_open());
}

TEST(Pidfd, KnowsTheEndOfAStrangerWhereTheKernelTells) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(7);
  }
  const Descriptor pidfd = open_pidfd(child);

  wait_readable(pidfd.get());
  EXPECT_EQ(ended_elsewhere(pidfd.get()), std::nullopt) << "nobody has waited for it yet";
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);

  const auto status = ended_elsewhere(pidfd.get());
  if (!status) {
    GTEST_SKIP() << "this kernel does not tell";
  }
  EXPECT_EQ(*status, (ExitStatus{.code = 7}));
}

}  // namespace
}  // namespace rubato
