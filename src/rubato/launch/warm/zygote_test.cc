#include "rubato/launch/warm/zygote.h"

#include <sys/wait.h>

#include <gmock/gmock.h>

#include "rubato/launch/process/pidfd.h"
#include "rubato/launch/warm/zygote_scene_test.h"

namespace rubato {
namespace {

class ZygoteTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!ZygoteScene::has_python()) {
      GTEST_SKIP() << kSystemPython << " is not there";
    }
  }

  // The script run cold and warm must say the same and end alike.
  ScriptRun same_both_ways(const std::string& script, std::vector<std::string> words = {},
                           const std::string& file = "script.py") {
    folder_.write(file, script);
    std::vector<std::string> argv{"python3", file};
    argv.insert(argv.end(), words.begin(), words.end());
    const ProcessSpec spec = scene_.process(argv, folder_.path());
    const ScriptRun cold = scene_.cold(spec);
    const ScriptRun warm = scene_.warm(spec);
    EXPECT_EQ(warm.output, cold.output);
    EXPECT_EQ(warm.errors, cold.errors);
    EXPECT_EQ(warm.status, cold.status);
    return warm;
  }

  TestFolder folder_{"zygote_test"};
  ZygoteScene scene_;
};

TEST_F(ZygoteTest, RunsAScriptAsIfItHadBeenStartedCold) {
  scene_.environment()["RUBATO_TEST_WORD"] = "set for this worker";

  const ScriptRun run = same_both_ways(R"('''The text of the script.'''
import os, signal, sys
print(__name__, __file__, __doc__, __spec__, __package__, __cached__, __annotations__)
print(type(__loader__), type(__builtins__), sorted(globals()))
print(sys.argv, sys.orig_argv, sys.path, sys.flags)
print(sys.modules["__main__"].__dict__ is globals())
print(os.getcwd(), sorted(os.environ.items()), os.getenv("RUBATO_TEST_WORD"))
print(os.getpgrp() == os.getpid(), os.read(0, 10))
print({s: str(signal.getsignal(s)).partition(" at ")[0] for s in signal.valid_signals()})
print(sys.stdout, sys.stderr, sys.stdin, sys.stdout.line_buffering)
print(sorted(os.listdir("/proc/self/fd"))[:3])
print(open("/proc/self/cmdline").read().rstrip("\0").split("\0"))
print(open("/proc/self/comm").read(), sys.executable, sys.prefix)
)",
                                       {"--lr", "0.1", "two words", ""});

  EXPECT_THAT(run.output, testing::HasSubstr("__main__ " + folder_.at("script.py")));
  EXPECT_THAT(run.output, testing::HasSubstr("set for this worker"));
}

TEST_F(ZygoteTest, LeavesNoDescriptorOpen) {
  same_both_ways("import os\nprint(sorted(os.listdir('/proc/self/fd')))\n");
}

TEST_F(ZygoteTest, EndsAsAColdScriptEnds) {
  EXPECT_EQ(same_both_ways("print('no line end', end='')").status, (ExitStatus{.code = 0}));
  EXPECT_EQ(same_both_ways("import sys; sys.exit(75)").status, (ExitStatus{.code = 75}));
  EXPECT_EQ(same_both_ways("import sys; sys.exit('words')").status, (ExitStatus{.code = 1}));
  EXPECT_EQ(same_both_ways("raise SystemExit").status, (ExitStatus{.code = 0}));
  EXPECT_EQ(same_both_ways("import os; os._exit(9)").status, (ExitStatus{.code = 9}));
  EXPECT_EQ(same_both_ways("import os, signal; os.kill(os.getpid(), signal.SIGTERM)").status,
            (ExitStatus{.signal = SIGTERM}));
  EXPECT_EQ(same_both_ways("raise KeyboardInterrupt").status, (ExitStatus{.signal = SIGINT}));
}

TEST_F(ZygoteTest, ShowsTheTracebackOfTheScriptAlone) {
  const ScriptRun run = same_both_ways(
      "def f(n):\n    return 1 // n\ntry:\n    {}['a']\nexcept KeyError:\n    f(0)\n");

  EXPECT_EQ(run.status, (ExitStatus{.code = 1}));
  EXPECT_THAT(run.errors, testing::EndsWith("ZeroDivisionError: integer division or modulo by "
                                            "zero\n"));
}

TEST_F(ZygoteTest, ReportsWhatIsWrongWithTheScriptLikePython) {
  EXPECT_EQ(same_both_ways("f(\n").status, (ExitStatus{.code = 1}));
  EXPECT_EQ(same_both_ways("# -*- coding: latin-1 -*-\nprint(len('\xe9'))\n").output, "1\n");
  const ProcessSpec missing = scene_.process({"python3", "none.py"}, folder_.path());
  const ScriptRun cold = scene_.cold(missing);
  const ScriptRun warm = scene_.warm(missing);
  EXPECT_EQ(warm.errors, cold.errors);
  EXPECT_EQ(warm.status, cold.status);
}

TEST_F(ZygoteTest, RunsWhatIsLeftForTheEnd) {
  const ScriptRun run = same_both_ways(R"(
import atexit, sys, threading
atexit.register(print, "last words")
threading.Thread(target=lambda: print("a thread")).start()
sys.excepthook = lambda kind, error, trace: print("my hook", kind, trace.tb_lineno)
raise ValueError
)");

  EXPECT_THAT(run.output, testing::HasSubstr("last words"));
}

TEST_F(ZygoteTest, FindsModulesAndClassesOfTheScript) {
  folder_.write("beside.py", "word = 'from beside'\n");

  same_both_ways(R"(
import multiprocessing, pickle
import beside
class Point:
    pass
def work(queue):
    queue.put(beside.word)
if __name__ == "__main__":
    print(beside.word, type(pickle.loads(pickle.dumps(Point()))) is Point)
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        queue = context.Queue()
        child = context.Process(target=work, args=(queue,))
        child.start()
        print(method, queue.get())
        child.join()
)");
}

TEST_F(ZygoteTest, GivesEachChildItsOwnRandomNumbers) {
  scene_.spec().modules = {"random", "multiprocessing"};
  folder_.write(
      "script.py",
      "import random, uuid, multiprocessing\n"
      "print(random.random(), uuid.uuid4(), multiprocessing.current_process().authkey)\n");
  const ProcessSpec spec = scene_.process({"python3", "script.py"}, folder_.path());

  EXPECT_NE(scene_.warm(spec).output, scene_.warm(spec).output);
}

TEST_F(ZygoteTest, AppliesLimitsAndWeights) {
  folder_.write("script.py",
                "import os, resource\n"
                "print(resource.getrlimit(resource.RLIMIT_NOFILE), "
                "resource.getrlimit(resource.RLIMIT_CORE), os.nice(0),\n"
                "      os.getsid(0) == os.getpid(), len(os.sched_getaffinity(0)))\n");
  ProcessSpec spec = scene_.process({"python3", "script.py"}, folder_.path());
  spec.limits = {{.resource = RLIMIT_NOFILE, .soft = 77, .hard = 88},
                 {.resource = RLIMIT_CORE, .soft = 0, .hard = RLIM_INFINITY}};
  spec.nice = 4;
  spec.group = ProcessGroup::OwnSession;
  spec.cpus = {0};

  const ScriptRun cold = scene_.cold(spec);

  EXPECT_EQ(cold.output, "(77, 88) (0, -1) 4 True 1\n");
  EXPECT_EQ(scene_.warm(spec).output, cold.output);
}

TEST_F(ZygoteTest, WritesAtOnceWithTheFlagForIt) {
  scene_.spec().key.flags = {"-u"};
  folder_.write("script.py",
                "import sys, os\nprint(type(sys.stdout.buffer), sys.stdout.write_through)\n"
                "sys.stdout.write('partly')\nos._exit(0)\n");
  const ProcessSpec spec = scene_.process({"python3", "-u", "script.py"}, folder_.path());

  const ScriptRun cold = scene_.cold(spec);
  const ScriptRun warm = scene_.warm(spec);

  EXPECT_THAT(cold.output, testing::EndsWith("partly"));
  EXPECT_EQ(warm.output, cold.output);
}

TEST_F(ZygoteTest, HoldsAChildUntilItIsToldToGo) {
  folder_.write("script.py", "print('ran')\n");
  TestPipe output;
  ProcessSpec spec = scene_.process({"python3", "script.py"}, folder_.path());
  spec.output = output.write_end.get();
  spec.errors = output.write_end.get();
  const ZygoteNews started = scene_.start(spec);

  scene_.zygote().kill();
  wait_readable(started.pidfd.get());

  EXPECT_EQ(output.read_all(), "") << "its zygote can never tell it to go";
}

TEST_F(ZygoteTest, OutlivesAChildThatIsKilledWhileItIsHeld) {
  folder_.write("script.py", "print('ran')\n");
  TestPipe output;
  ProcessSpec spec = scene_.process({"python3", "script.py"}, folder_.path());
  spec.output = output.write_end.get();
  spec.errors = output.write_end.get();
  const ZygoteNews started = scene_.start(spec);

  EXPECT_EQ(::kill(-started.pid, SIGTERM), 0) << "its group is there from the first moment";
  EXPECT_EQ(scene_.end(started.pid), (ExitStatus{.signal = SIGTERM}));
  scene_.zygote().go();

  EXPECT_EQ(scene_.warm(spec).output, "ran\n");
}

TEST_F(ZygoteTest, TakesTheGroupOfAChildWithIt) {
  folder_.write("script.py",
                "import os\nr, w = os.pipe()\nif os.fork() == 0:\n    os.read(r, 1)\n"
                "print('parent')\n");

  const ScriptRun run = scene_.warm(scene_.process({"python3", "script.py"}, folder_.path()));

  EXPECT_EQ(run.output, "parent\n") << "the other one would wait for ever, and hold the pipe";
}

TEST_F(ZygoteTest, EndsItsChildrenWhenItsStarterIsGone) {
  folder_.write("script.py",
                "import os\nprint('here', flush=True)\nr, w = os.pipe()\n"
                "os.read(r, 1)\n");
  TestPipe output;
  ProcessSpec spec = scene_.process({"python3", "script.py"}, folder_.path());
  const pid_t starter = ::fork();
  if (starter == 0) {
    spec.output = output.write_end.get();
    spec.errors = output.write_end.get();
    scene_.start(spec);
    scene_.zygote().go();
    ::pause();
  }
  ASSERT_EQ(output.read_line(), "here");

  ASSERT_EQ(::kill(starter, SIGKILL), 0);

  EXPECT_EQ(output.read_all(), "");
  siginfo_t info{};
  EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(starter), &info, WEXITED), 0);
}

TEST_F(ZygoteTest, RefusesAScriptThatWouldHaveLoadedOtherModules) {
  folder_.write("script.py", "import json\n");
  folder_.write("json.py", "print('mine')\n");
  TestPipe output;
  ProcessSpec spec = scene_.process({"python3", "script.py"}, folder_.path());
  spec.output = output.write_end.get();
  spec.errors = output.write_end.get();

  const ZygoteNews answer = scene_.start(spec);

  EXPECT_EQ(answer.word, ZygoteWord::Refused);
  EXPECT_THAT(answer.why, testing::HasSubstr("json.py"));
  EXPECT_EQ(output.read_all(), "") << "and it holds no end of the pipe";
}

TEST_F(ZygoteTest, IsUnfitWithAModuleThatStartsThreads) {
  folder_.write("busy.py",
                "import threading\nthreading.Thread(target=threading.Event().wait, "
                "daemon=True).start()\n");
  scene_.spec().environment["PYTHONPATH"] = folder_.path();
  scene_.spec().modules = {"busy"};

  EXPECT_EQ(scene_.ready().word, ZygoteWord::Unfit);
  EXPECT_THAT(scene_.ready().why, testing::HasSubstr("busy started 1 threads"));
  EXPECT_EQ(scene_.next().word, ZygoteWord::Gone);
}

TEST_F(ZygoteTest, IsUnfitWithoutItsModules) {
  scene_.spec().modules = {"json", "no_such_module"};

  EXPECT_EQ(scene_.ready().word, ZygoteWord::Unfit);
  EXPECT_THAT(scene_.ready().why, testing::HasSubstr("no_such_module"));
}

TEST_F(ZygoteTest, RefusesAnEnvironmentThatIsTooLongForItsSocket) {
  ProcessSpec spec = scene_.process({"python3", "script.py"}, folder_.path());
  spec.environment["LONG"] = std::string(100'000, 'x');

  EXPECT_FALSE(scene_.zygote().request({.token = 1, .process = spec}).ok());
}

TEST_F(ZygoteTest, CarriesBytesThatAreNoText) {
  scene_.environment()["BYTES"] = "\xff\xfe=\n";

  EXPECT_EQ(
      same_both_ways("import os, sys\nprint(os.environb[b'BYTES'], sys.argv[1:])\n", {"\xff", "\n"})
          .output,
      "b'\\xff\\xfe=\\n' ['\\udcff', '\\n']\n");
}

}  // namespace
}  // namespace rubato
