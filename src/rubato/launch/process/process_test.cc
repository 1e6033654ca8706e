#include "rubato/launch/process/process.h"

#include <cstdint>
#include <sched.h>
#include <sys/wait.h>
#include <thread>

#include <gmock/gmock.h>

#include "rubato/launch/process/process_scene_test.h"

namespace rubato {
namespace {

ProcessSpec shell(const std::string& text) {
  return {.argv = {"sh", "-c", text}, .environment = {{"PATH", "/usr/bin:/bin"}}};
}

// What a script writes to its standard output.
std::string said(ProcessSpec spec) {
  TestPipe pipe;
  spec.output = pipe.write_end.get();
  auto process = Process::start(spec);
  EXPECT_TRUE(process.ok()) << process.error().message;
  std::string text = pipe.read_all();
  wait_exit(*process);
  return text;
}

TEST(Process, TellsItsExitCode) {
  auto process = Process::start(shell("exit 3"));
  ASSERT_TRUE(process.ok()) << process.error().message;

  EXPECT_EQ(wait_exit(*process), (ExitStatus{.code = 3}));
  EXPECT_EQ(process->poll_exit(), (ExitStatus{.code = 3})) << "asked again";
  EXPECT_FALSE(process->signal(SIGTERM)) << "a process that is gone gets no signal";
}

TEST(Process, TellsTheSignalThatEndedIt) {
  TestPipe never;
  ProcessSpec spec = shell("read line");
  spec.input = never.read_end.get();
  auto process = Process::start(spec);
  ASSERT_TRUE(process.ok());

  EXPECT_EQ(process->poll_exit(), std::nullopt) << "it still reads";
  EXPECT_TRUE(process->signal(SIGTERM));

  EXPECT_EQ(wait_exit(*process), (ExitStatus{.signal = SIGTERM}));
}

TEST(Process, SeesItsEnvironmentDirectoryAndNothingElse) {
  ::setenv("RUBATO_PROCESS_TEST", "ours", 1);
  const Descriptor leaked(::open("/dev/null", O_RDONLY));  // Without close-on-exec.
  ProcessSpec spec = shell("echo ${RUBATO_PROCESS_TEST-unset} $OWN; pwd; cat; ls /proc/self/fd");
  spec.environment["OWN"] = "two words";
  spec.directory = "/usr";

  EXPECT_EQ(said(spec), "unset two words\n/usr\n0\n1\n2\n3\n") << "3 is the folder that ls reads";
}

TEST(Process, KeepsADescriptorUnderItsNumber) {
  TestPipe pipe;
  ProcessSpec spec = shell("echo kept >&" + std::to_string(pipe.write_end.get()));
  spec.kept = {pipe.write_end.get()};
  auto process = Process::start(spec);
  ASSERT_TRUE(process.ok());

  EXPECT_EQ(pipe.read_all(), "kept\n");
}

TEST(Process, MayExchangeTheStandardDescriptors) {
  // Run in a child whose 1 and 2 are pipes, so that the test's own stay as they are.
  TestPipe out;
  TestPipe err;
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(out.write_end.get(), 1);
    ::dup2(err.write_end.get(), 2);
    ProcessSpec spec = shell("echo to-one; echo to-two >&2");
    spec.output = 2;
    spec.errors = 1;
    auto process = Process::start(spec);
    ::_exit(process.ok() ? wait_exit(*process).code : 1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(out.read_all(), "to-two\n");
  EXPECT_EQ(err.read_all(), "to-one\n");
}

TEST(Process, StartsWithDefaultSignalsWhateverOursAre) {
  const auto before = std::signal(SIGTERM, SIG_IGN);
  const std::string blocked = said(shell("sed -n 's/^SigBlk:.//p' /proc/self/status"));
  const std::string ignored = said(shell("sed -n 's/^SigIgn:.//p' /proc/self/status"));
  std::signal(SIGTERM, before);

  // Signals 32 and 33 are libc's own, and no program can change them: whoever was started by its
  // posix_spawn, as by some versions of make, ignores one or both.
  constexpr std::uint64_t kOfLibc = (std::uint64_t{1} << 31) | (std::uint64_t{1} << 32);
  EXPECT_EQ(std::stoull(blocked, nullptr, 16), 0U);
  EXPECT_EQ(std::stoull(ignored, nullptr, 16) & ~kOfLibc, 0U);
}

TEST(Process, AppliesLimitsWeightsAndCpus) {
  cpu_set_t ours;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(ours), &ours), 0);
  int cpu = 0;
  while (!CPU_ISSET(static_cast<std::size_t>(cpu), &ours)) {
    ++cpu;
  }
  ProcessSpec spec = shell("ulimit -n; nice; grep Cpus_allowed_list /proc/self/status");
  spec.limits = {{.resource = RLIMIT_NOFILE, .soft = 77, .hard = 77}};
  spec.nice = 7;
  spec.cpus = {cpu};

  EXPECT_EQ(said(spec), "77\n7\nCpus_allowed_list:\t" + std::to_string(cpu) + "\n");
}

TEST(Process, ASessionOfItsOwnMayHaveAWeight) {
  ProcessSpec spec = shell("cat /proc/self/autogroup 2>/dev/null; echo $(ps -o sid= -p $$) $$");
  spec.group = ProcessGroup::OwnSession;
  spec.session_nice = 5;

  const std::string text = said(spec);

  if (text.find("/autogroup") != std::string::npos) {
    EXPECT_NE(text.find("nice 5"), std::string::npos) << text;
  }
  const std::string last = text.substr(text.rfind('\n', text.size() - 2) + 1);
  const std::size_t space = last.find(' ');
  EXPECT_EQ(last.substr(0, space) + "\n", last.substr(space + 1)) << "it leads its session";
}

TEST(Process, RunsAScriptThatNamesNoInterpreter) {
  const TestFolder folder("process_test");
  const std::string script = folder.write("plain", "echo \"plain $1\"\n");
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);

  EXPECT_EQ(said({.argv = {"./plain", "words"}, .directory = folder.path()}), "plain words\n");
}

TEST(Process, SaysWhyItCannotStart) {
  const auto message_of = [](const ProcessSpec& spec) {
    const auto process = Process::start(spec);
    return process.ok() ? "started" : process.error().message;
  };
  ProcessSpec nowhere = shell("true");
  nowhere.directory = "/no/such/folder";
  ProcessSpec greedy = shell("true");
  greedy.limits = {{.resource = RLIMIT_NOFILE, .soft = 9, .hard = 8}};

  EXPECT_THAT(message_of({.argv = {"no-such-program"}}), testing::HasSubstr("no-such-program"));
  EXPECT_THAT(message_of(nowhere), testing::HasSubstr("directory"));
  EXPECT_THAT(message_of(greedy), testing::HasSubstr("limits"));
  EXPECT_NE(message_of({.argv = {}}), "started");
  EXPECT_NE(message_of({.argv = {"true", std::string("a\0b", 3)}}), "started");
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "and no child is left";
}

TEST(Process, TakesItsGroupWithItWhenItEnds) {
  TestPipe pipe;
  ProcessSpec spec = shell("sleep 1000 & echo started; exit 4");
  spec.output = pipe.write_end.get();
  auto process = Process::start(spec);
  ASSERT_TRUE(process.ok());

  EXPECT_EQ(wait_exit(*process), (ExitStatus{.code = 4}));

  EXPECT_EQ(pipe.read_all(), "started\n") << "the one in the background has closed its end";
}

TEST(Process, EndsWithItsObject) {
  TestPipe pipe;
  TestPipe never;
  {
    ProcessSpec spec = shell("sleep 1000 & echo started; read line");
    spec.input = never.read_end.get();
    spec.output = pipe.write_end.get();
    auto process = Process::start(spec);
    ASSERT_TRUE(process.ok());
    EXPECT_EQ(pipe.read_line(), "started");
  }

  EXPECT_EQ(pipe.read_all(), "") << "parent and child have closed their ends";
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "no zombie is left";
}

TEST(Process, LivesOnWhenReleased) {
  TestPipe pipe;
  TestPipe words;
  pid_t pid = -1;
  {
    ProcessSpec spec = shell("read line; echo \"got $line\"");
    spec.input = words.read_end.get();
    spec.output = pipe.write_end.get();
    auto process = Process::start(spec);
    ASSERT_TRUE(process.ok());
    pid = process->pid();
    process->release();
  }

  ASSERT_EQ(::write(words.write_end.get(), "it\n", 3), 3);
  EXPECT_EQ(pipe.read_all(), "got it\n");
  EXPECT_EQ(::waitpid(pid, nullptr, 0), pid);
}

TEST(Process, MovesWithItsObject) {
  auto first = Process::start(shell("exit 5"));
  auto second = Process::start(shell("exit 6"));
  ASSERT_TRUE(first.ok() && second.ok());
  Process moved(std::move(*first));

  moved = std::move(*second);

  EXPECT_EQ(wait_exit(moved), (ExitStatus{.code = 6}));
}

TEST(Process, StartsFromManyThreadsAtOnce) {
  std::vector<std::jthread> threads;
  for (int code = 0; code < 8; ++code) {
    threads.emplace_back([code] {
      for (int i = 0; i < 5; ++i) {
        auto process = Process::start(shell("exit " + std::to_string(code)));
        ASSERT_TRUE(process.ok());
        EXPECT_EQ(wait_exit(*process), (ExitStatus{.code = code}));
      }
    });
  }
}

// A parent that starts a script and is then killed; the script's words come through `pipe`.
void kill_parent_of(ProcessSpec spec, TestPipe& pipe) {
  const pid_t parent = ::fork();
  if (parent == 0) {
    spec.output = pipe.write_end.get();
    const auto process = Process::start(spec);
    if (!process.ok()) {
      ::_exit(1);
    }
    ::pause();
  }
  EXPECT_EQ(pipe.read_line(), "started");
  EXPECT_EQ(::kill(parent, SIGKILL), 0);
  EXPECT_EQ(::waitpid(parent, nullptr, 0), parent);
}

TEST(Process, DiesWithItsParentIfAskedTo) {
  TestPipe pipe;
  TestPipe never;
  ProcessSpec spec = shell("echo started; read line");
  spec.input = never.read_end.get();
  spec.dies_with_parent = true;

  kill_parent_of(spec, pipe);

  EXPECT_EQ(pipe.read_all(), "") << "its end of the pipe is closed";
}

TEST(Process, OutlivesItsParentIfNotAskedTo) {
  TestPipe pipe;
  TestPipe words;
  ProcessSpec spec = shell("echo started; read line; echo \"alone with $line\"");
  spec.input = words.read_end.get();

  kill_parent_of(spec, pipe);

  ASSERT_EQ(::write(words.write_end.get(), "words\n", 6), 6);
  EXPECT_EQ(pipe.read_all(), "alone with words\n");
}

}  // namespace
}  // namespace rubato
