#include "rubato/launch/process/group_guard.h"

#include <sys/socket.h>
#include <sys/wait.h>

#include "rubato/launch/process/pidfd.h"
#include "rubato/launch/process/process_scene_test.h"

namespace rubato {
namespace {

// Starts a script under a guard in a process of its own, and calls `then` there.
template <typename Then>
pid_t guarded_parent(const std::string& text, TestPipe& output, TestPipe& input, Then then) {
  const pid_t parent = ::fork();
  if (parent != 0) {
    return parent;
  }
  auto guard = GroupGuard::start();
  auto process = Process::start({.argv = {"/bin/sh", "-c", text},
                                 .input = input.read_end.get(),
                                 .output = output.write_end.get(),
                                 .guard = guard.ok() ? guard->descriptor() : -1});
  if (!guard.ok() || !process.ok()) {
    ::_exit(1);
  }
  then(*guard, *process);
  ::pause();
  ::_exit(2);
}

TEST(GroupGuard, EndsGrandchildrenWhenTheParentIsKilled) {
  TestPipe output;
  TestPipe never;
  const pid_t parent = guarded_parent("sleep 1000 & sleep 1000 & echo started; wait", output, never,
                                      [](GroupGuard&, Process&) {});
  ASSERT_EQ(output.read_line(), "started");

  ASSERT_EQ(::kill(parent, SIGKILL), 0);

  EXPECT_EQ(output.read_all(), "") << "everyone who could write is gone";
  EXPECT_EQ(::waitpid(parent, nullptr, 0), parent);
}

TEST(GroupGuard, LeavesAloneWhatItWasToldToForget) {
  TestPipe output;
  TestPipe words;
  TestPipe forgotten;
  const pid_t parent =
      guarded_parent("echo started; read line; echo \"$line\"", output, words,
                     [&](GroupGuard& guard, Process& process) {
                       // The number stays among others, of which it is a part.
                       GroupGuard::watch(guard.descriptor(), process.pid() * 10 + 1);
                       GroupGuard::forget(guard.descriptor(), process.pid());
                       GroupGuard::forget(guard.descriptor(), process.pid());
                       process.release();
                       const std::string line = std::to_string(guard.pid()) + "\n";
                       if (::write(forgotten.write_end.get(), line.data(), line.size()) < 0) {
                         ::_exit(3);
                       }
                     });
  ASSERT_EQ(output.read_line(), "started");
  const Descriptor guard = open_pidfd(std::stoi(forgotten.read_line()));

  ASSERT_EQ(::kill(parent, SIGKILL), 0);
  EXPECT_EQ(::waitpid(parent, nullptr, 0), parent);
  wait_readable(guard.get());

  ASSERT_EQ(::write(words.write_end.get(), "alive\n", 6), 6) << "after the guard has done its work";
  EXPECT_EQ(output.read_all(), "alive\n");
}

TEST(GroupGuard, IsToldOfAGroupBeforeItRunsAndBeforeItsNumberIsFree) {
  std::array<int, 2> sockets{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()), 0);
  const Descriptor listener(sockets[0]);
  Descriptor guard(sockets[1]);
  auto process = Process::start({.argv = {"/bin/sh", "-c", "exit 0"}, .guard = guard.get()});
  ASSERT_TRUE(process.ok());
  const std::string pid = std::to_string(process->pid());
  guard = Descriptor();

  wait_exit(*process);

  std::array<char, 100> text{};
  const ssize_t got = ::read(listener.get(), text.data(), text.size());
  ASSERT_GT(got, 0);
  EXPECT_EQ(std::string(text.data(), static_cast<std::size_t>(got)),
            "+ " + pid + "\n- " + pid + "\n");
}

TEST(GroupGuard, ThatWasKilledStopsNobodyFromStarting) {
  auto guard = GroupGuard::start();
  ASSERT_TRUE(guard.ok());
  ASSERT_EQ(::kill(guard->pid(), SIGKILL), 0);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(guard->pid()), &info, WEXITED | WNOWAIT), 0);

  auto process =
      Process::start({.argv = {"/bin/sh", "-c", "exit 6"}, .guard = guard->descriptor()});

  ASSERT_TRUE(process.ok()) << process.error().message;
  EXPECT_EQ(wait_exit(*process), (ExitStatus{.code = 6}));
}

TEST(GroupGuard, GoesQuietlyWithItsObject) {
  auto process = [] {
    auto guard = GroupGuard::start();
    EXPECT_TRUE(guard.ok());
    return Process::start({.argv = {"/bin/sh", "-c", "exit 7"}, .guard = guard->descriptor()});
  }();

  ASSERT_TRUE(process.ok());
  EXPECT_EQ(wait_exit(*process), (ExitStatus{.code = 7}));
}

}  // namespace
}  // namespace rubato
