#include "rubato/launch/local/local_launcher.h"

#include <sys/wait.h>

#include <gmock/gmock.h>

#include "rubato/launch/process/pidfd.h"
#include "rubato/launch/process/process_scene_test.h"

namespace rubato {
namespace {

constexpr const char* kPython = "/usr/bin/python3";

class LocalLauncherTest : public testing::Test {
 protected:
  LocalLauncherTest() {
    options_.log_folder = folder_.at("logs");
    options_.modules = {"json"};
  }

  LocalLauncher& launcher() {
    if (!launcher_) {
      auto opened = LocalLauncher::open(options_);
      EXPECT_TRUE(opened.ok());
      launcher_ = std::move(*opened);
    }
    return *launcher_;
  }

  Status start(std::uint64_t worker, std::vector<std::string> argv) {
    return launcher().start({.worker = WorkerId{worker},
                             .argv = std::move(argv),
                             .environment = environment_,
                             .directory = folder_.path()});
  }
  Status shell(std::uint64_t worker, const std::string& text) {
    return start(worker, {"sh", "-c", text});
  }
  Status python(std::uint64_t worker, const std::string& text) {
    const std::string name = "script" + std::to_string(worker) + ".py";
    folder_.write(name, text);
    return start(worker, {kPython, name});
  }

  // Waits for the next end, doing the launcher's work meanwhile.
  WorkerEnd next_end() {
    while (ends_.empty()) {
      step();
    }
    WorkerEnd end = ends_.front();
    ends_.erase(ends_.begin());
    return end;
  }
  void step() {
    wait_readable(launcher().descriptor());
    for (WorkerEnd& end : launcher().ended()) {
      ends_.push_back(std::move(end));
    }
  }
  // Works until the worker has said so much.
  std::string wait_line(std::uint64_t worker) {
    while (log(worker).find('\n') == std::string::npos) {
      step();
    }
    return log(worker).substr(0, log(worker).find('\n'));
  }
  [[nodiscard]] std::string log(std::uint64_t worker) const {
    return folder_.read("logs/worker-" + std::to_string(worker) + ".log");
  }
  std::string all_notes() {
    std::string text;
    for (const std::string& note : launcher().notes()) {
      text += note + "\n";
    }
    return text;
  }
  static bool has_python() { return ::access(kPython, X_OK) == 0; }

  TestFolder folder_{"local_launcher_test"};
  LocalLaunchOptions options_;
  Environment environment_{{"PATH", "/usr/bin:/bin"}, {"HOME", "/"}};
  std::unique_ptr<LocalLauncher> launcher_;
  std::vector<WorkerEnd> ends_;
};

TEST_F(LocalLauncherTest, StartsAnyProgramKeepsItsWordsAndTellsItsEnd) {
  ASSERT_TRUE(shell(3, "echo out; echo err >&2; pwd; exit 4").ok());
  EXPECT_TRUE(launcher().pid(WorkerId{3}).has_value());
  EXPECT_FALSE(launcher().is_warm(WorkerId{3}));

  const WorkerEnd end = next_end();

  EXPECT_EQ(end.worker, WorkerId{3});
  EXPECT_EQ(end.cause.kind, ExitKind::UserError);
  EXPECT_EQ(end.cause.status, (ExitStatus{.code = 4}));
  EXPECT_THAT(log(3), testing::AllOf(testing::HasSubstr("out\n"), testing::HasSubstr("err\n"),
                                     testing::HasSubstr(folder_.path() + "\n")));
  EXPECT_FALSE(launcher().pid(WorkerId{3}).has_value());
}

TEST_F(LocalLauncherTest, RefusesWhatCannotStart) {
  EXPECT_FALSE(start(1, {"no-such-program"}).ok());
  EXPECT_FALSE(start(2, {}).ok());
  ASSERT_TRUE(shell(3, "exit 0").ok());
  EXPECT_FALSE(shell(3, "exit 0").ok()) << "the id is taken";
  EXPECT_EQ(launcher().signal(WorkerId{1}, SIGTERM).error().code, ErrorCode::NotFound);
  EXPECT_EQ(next_end().worker, WorkerId{3});
  EXPECT_TRUE(shell(3, "exit 0").ok()) << "and free again";
}

TEST_F(LocalLauncherTest, TellsWhoWasEndedByUs) {
  ASSERT_TRUE(shell(1, "echo on; sleep 1000").ok());
  wait_line(1);

  ASSERT_TRUE(launcher().signal(WorkerId{1}, SIGTERM).ok());

  EXPECT_EQ(next_end().cause.kind, ExitKind::KilledByUs);
}

TEST_F(LocalLauncherTest, ShowsAllWorkersWithTheirNumber) {
  TestPipe terminal;
  options_.echo = EchoChoice::All;
  options_.terminal = terminal.write_end.get();
  ASSERT_TRUE(shell(1, "echo a").ok());
  ASSERT_TRUE(shell(2, "echo b").ok());
  next_end();
  next_end();
  launcher_.reset();

  const std::string text = terminal.read_all();

  EXPECT_THAT(text, testing::AnyOf("[1] a\n[2] b\n", "[2] b\n[1] a\n"));
}

TEST_F(LocalLauncherTest, ShowsAnotherWorkerFromNowOn) {
  TestPipe terminal;
  const std::string go = folder_.at("go");
  options_.echo = EchoChoice::One;
  options_.echoed = WorkerId{1};
  options_.terminal = terminal.write_end.get();
  ASSERT_TRUE(shell(1, "echo one; read x").ok());
  ASSERT_TRUE(shell(2, "echo quiet; while ! [ -e " + go + " ]; do :; done; echo two").ok());
  wait_line(1);
  wait_line(2);

  launcher().echo(WorkerId{2});
  folder_.write("go", "");
  next_end();
  next_end();
  launcher_.reset();

  EXPECT_EQ(terminal.read_all(), "one\ntwo\n");
}

TEST_F(LocalLauncherTest, HasNoRemarkOnAProgramThatIsNoPython) {
  ASSERT_TRUE(shell(1, "exit 0").ok());
  next_end();

  EXPECT_EQ(all_notes(), "");
}

TEST_F(LocalLauncherTest, ShowsOneWorkerAsItIs) {
  TestPipe terminal;
  options_.echo = EchoChoice::One;
  options_.echoed = WorkerId{2};
  options_.terminal = terminal.write_end.get();
  ASSERT_TRUE(shell(1, "echo a").ok());
  ASSERT_TRUE(shell(2, "echo b").ok());
  next_end();
  next_end();
  launcher_.reset();

  EXPECT_EQ(terminal.read_all(), "b\n");
}

TEST_F(LocalLauncherTest, EndsAllWhenItGoes) {
  ASSERT_TRUE(shell(1, "echo on; sleep 1000").ok());
  wait_line(1);
  const Descriptor pidfd = open_pidfd(*launcher().pid(WorkerId{1}));

  launcher_.reset();

  wait_readable(pidfd.get());
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "no child is left, not even a zombie";
}

TEST_F(LocalLauncherTest, WantsLimitsThatTheSystemMayNotAllowAndGoesOn) {
  options_.cgroup = {.cpu_weight = 50, .memory_bytes = std::int64_t{1} << 30};
  ASSERT_TRUE(shell(1, "exit 0").ok());

  EXPECT_EQ(next_end().cause.kind, ExitKind::Finished);
  if (isolation_support().folder.empty()) {
    EXPECT_THAT(all_notes(), testing::HasSubstr("per worker"));
  }
}

class WarmLauncherTest : public LocalLauncherTest {
 protected:
  void SetUp() override {
    if (!has_python()) {
      GTEST_SKIP() << kPython << " is not there";
    }
  }
};

TEST_F(WarmLauncherTest, ForksManyWorkersFromOneInterpreter) {
  const std::string script = "import os, sys\nprint(os.getppid())\nsys.exit(75)\n";
  for (std::uint64_t worker = 1; worker <= 5; ++worker) {
    ASSERT_TRUE(python(worker, script).ok());
  }

  std::set<std::string> parents;
  for (int i = 0; i < 5; ++i) {
    const WorkerEnd end = next_end();
    EXPECT_EQ(end.cause.kind, ExitKind::Requeue) << describe(end.cause);
    parents.insert(log(end.worker.value));
  }

  EXPECT_EQ(parents.size(), 1U);
  EXPECT_NE(*parents.begin(), std::to_string(::getpid()) + "\n") << "not our own children";
  EXPECT_EQ(all_notes(), "");
}

TEST_F(WarmLauncherTest, NamesTheExceptionOfAWarmWorker) {
  ASSERT_TRUE(python(1, "raise ValueError('no such file')\n").ok());

  EXPECT_EQ(describe(next_end().cause), "user error (exit code 1): ValueError: no such file");
}

TEST_F(WarmLauncherTest, DeliversASignalThatCameBeforeTheStart) {
  ASSERT_TRUE(python(1, "import time\ntime.sleep(1000)\n").ok());
  ASSERT_FALSE(launcher().pid(WorkerId{1}).has_value()) << "the interpreter is still loading";

  ASSERT_TRUE(launcher().signal(WorkerId{1}, SIGTERM).ok());

  EXPECT_EQ(next_end().cause.kind, ExitKind::KilledByUs);
}

TEST_F(WarmLauncherTest, StartsColdIfTheInterpreterCannotServe) {
  options_.modules = {"no_such_module"};
  ASSERT_TRUE(python(1, "print('ran')\n").ok());

  EXPECT_EQ(next_end().cause.kind, ExitKind::Finished);
  EXPECT_EQ(log(1), "ran\n");
  EXPECT_THAT(all_notes(), testing::HasSubstr("workers start cold: cannot import no_such_module"));
  ASSERT_TRUE(python(2, "print('ran')\n").ok());
  EXPECT_TRUE(launcher().pid(WorkerId{2}).has_value()) << "at once, without another attempt";
  EXPECT_EQ(next_end().cause.kind, ExitKind::Finished);
  EXPECT_EQ(all_notes(), "") << "said once";
}

TEST_F(WarmLauncherTest, StartsColdIfTheInterpreterHangs) {
  std::filesystem::create_directories(folder_.at("modules"));
  folder_.write("modules/hang.py", "import os\nr, w = os.pipe()\nos.read(r, 1)\n");
  environment_["PYTHONPATH"] = folder_.at("modules");
  options_.modules = {"hang"};
  options_.warm_patience = std::chrono::milliseconds{1};
  ASSERT_TRUE(python(1, "print('ran')\n").ok());
  ASSERT_TRUE(python(2, "print('ran')\n").ok());

  EXPECT_EQ(next_end().cause.kind, ExitKind::Finished);
  EXPECT_EQ(next_end().cause.kind, ExitKind::Finished);

  EXPECT_EQ(log(1) + log(2), "ran\nran\n") << "each once";
  EXPECT_THAT(all_notes(), testing::HasSubstr("did not answer within 1 ms"));
}

TEST_F(WarmLauncherTest, StartsColdWhatDoesNotQualify) {
  folder_.write("script.py", "print('ran')\n");
  ASSERT_TRUE(start(1, {kPython, "-B", "script.py"}).ok());
  ASSERT_TRUE(launcher().pid(WorkerId{1}).has_value());

  EXPECT_EQ(next_end().cause.kind, ExitKind::Finished);
  EXPECT_EQ(log(1), "ran\n");
}

TEST_F(WarmLauncherTest, StartsColdWhereAModuleStandsInTheWay) {
  folder_.write("json.py", "word = 'mine'\n");
  ASSERT_TRUE(python(1, "import json\nprint(json.word)\n").ok());

  EXPECT_EQ(next_end().cause.kind, ExitKind::Finished);
  EXPECT_EQ(log(1), "mine\n");
  EXPECT_THAT(all_notes(), testing::HasSubstr("json.py beside the script shadows"));
}

constexpr const char* kUntilToldToEnd =
    "import os, signal, sys\n"
    "signal.signal(signal.SIGUSR1, lambda *_: sys.exit(7))\n"
    "print(os.getppid(), flush=True)\n"
    "signal.pause()\n";

TEST_F(WarmLauncherTest, KeepsNoMoreInterpretersThanItMay) {
  options_.warm_max = 1;
  ASSERT_TRUE(python(1, kUntilToldToEnd).ok());
  wait_line(1);
  environment_["PYTHONPATH"] = folder_.at("other");

  ASSERT_TRUE(python(2, "print('ran')\n").ok());
  EXPECT_TRUE(launcher().pid(WorkerId{2}).has_value()) << "cold, at once";
  EXPECT_THAT(all_notes(), testing::HasSubstr("all 1 warm interpreters have workers"));
  EXPECT_EQ(next_end().worker, WorkerId{2});
  ASSERT_TRUE(launcher().signal(WorkerId{1}, SIGUSR1).ok());
  EXPECT_EQ(next_end().cause.status, (ExitStatus{.code = 7}));

  ASSERT_TRUE(python(3, "print('ran')\n").ok());
  EXPECT_FALSE(launcher().pid(WorkerId{3}).has_value()) << "from an interpreter of its kind";
  EXPECT_EQ(next_end().cause.kind, ExitKind::Finished);
}

TEST_F(WarmLauncherTest, LetsWorkersLiveWhenTheirInterpreterIsKilled) {
  ASSERT_TRUE(python(1, kUntilToldToEnd).ok());
  const int parent = std::stoi(wait_line(1));
  EXPECT_TRUE(launcher().is_warm(WorkerId{1}));
  const Descriptor pidfd = open_pidfd(parent);
  ASSERT_EQ(::kill(parent, SIGKILL), 0);
  wait_readable(pidfd.get());
  EXPECT_TRUE(launcher().ended().empty());

  ASSERT_TRUE(launcher().signal(WorkerId{1}, SIGUSR1).ok());
  const WorkerEnd end = next_end();

  if (end.cause.kind != ExitKind::Lost) {  // The kernel may not tell us of others' children.
    EXPECT_EQ(end.cause.status, (ExitStatus{.code = 7}));
  }
  ASSERT_TRUE(python(2, "import os\nprint(os.getppid())\n").ok());
  EXPECT_EQ(next_end().cause.kind, ExitKind::Finished);
  EXPECT_NE(log(2), log(1)) << "from a new interpreter";
}

TEST_F(WarmLauncherTest, LearnsTheEndOfAWorkerWhoseInterpreterHangs) {
  // The test lasts as long as the patience, so that is as short as this machine allows today.
  options_.warm_patience = std::chrono::milliseconds{100};
  WorkerId worker{1};
  ASSERT_TRUE(python(worker.value, kUntilToldToEnd).ok());
  int parent = std::stoi(wait_line(worker.value));
  while (!launcher().is_warm(worker)) {
    launcher_.reset();
    options_.warm_patience *= 2;
    ++worker.value;
    ASSERT_TRUE(python(worker.value, kUntilToldToEnd).ok());
    parent = std::stoi(wait_line(worker.value));
  }
  ASSERT_EQ(::kill(parent, SIGSTOP), 0);

  ASSERT_TRUE(launcher().signal(worker, SIGUSR1).ok());

  const WorkerEnd end = next_end();
  EXPECT_TRUE(end.cause.kind == ExitKind::Lost || end.cause.status == (ExitStatus{.code = 7}));
}

TEST_F(WarmLauncherTest, LeavesNobodyBehindWhenItIsKilled) {
  TestPipe pipe;
  const std::string number = std::to_string(pipe.write_end.get());
  const pid_t parent = ::fork();
  if (parent == 0) {
    // Worker and grandchild hold the terminal's pipe through a file that is its end.
    const std::string path = "/proc/" + std::to_string(::getpid()) + "/fd/" + number;
    const Status started = python(1, "import os\nend = open('" + path +
                                         "', 'w')\nos.fork()\nend.write('on\\n')\nend.flush()\n"
                                         "r, w = os.pipe()\nos.read(r, 1)\n");
    if (!started.ok()) {
      ::_exit(1);
    }
    while (true) {
      step();
    }
  }
  EXPECT_EQ(pipe.read_line(), "on");
  EXPECT_EQ(pipe.read_line(), "on");

  ASSERT_EQ(::kill(parent, SIGKILL), 0);

  EXPECT_EQ(pipe.read_all(), "") << "worker and grandchild have closed their ends";
  EXPECT_EQ(::waitpid(parent, nullptr, 0), parent);
}

}  // namespace
}  // namespace rubato
