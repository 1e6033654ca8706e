#include "rubato/launch/process/pidfd.h"

#include <sys/wait.h>

#include "rubato/launch/process/process_scene_test.h"

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

TEST(Pidfd, KnowsTheEndOfAStranger) {
  for (const int code : {0, 7, 255}) {
    TestPipe pipe;
    const pid_t child = ::fork();
    if (child == 0) {
      char letter = 0;
      ::_exit(::read(pipe.read_end.get(), &letter, 1) == 1 ? code : 99);
    }
    const Descriptor pidfd = open_pidfd(child);
    EXPECT_EQ(ended_elsewhere(pidfd.get(), child), std::nullopt) << "it lives";

    ASSERT_EQ(::write(pipe.write_end.get(), "x", 1), 1);
    wait_readable(pidfd.get());

    EXPECT_EQ(ended_elsewhere(pidfd.get(), child), (ExitStatus{.code = code}));
    EXPECT_EQ(::waitpid(child, nullptr, 0), child);
    const auto after = ended_elsewhere(pidfd.get(), child);
    EXPECT_TRUE(!after || *after == (ExitStatus{.code = code})) << "older kernels forget it";
  }
}

TEST(Pidfd, KnowsTheSignalThatEndedAStranger) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(1);
  }
  const Descriptor pidfd = open_pidfd(child);

  signal_pidfd(pidfd.get(), SIGKILL);
  wait_readable(pidfd.get());

  EXPECT_EQ(ended_elsewhere(pidfd.get(), child), (ExitStatus{.signal = SIGKILL}));
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

}  // namespace
}  // namespace rubato
