#include "rubato/launch/logs/rank_log.h"

#include <sstream>

#include "rubato/launch/process/process_scene_test.h"

namespace rubato {
namespace {

// Runs a script whose words go to the log, to its end.
void run(const std::string& script, RankLog& log, LineEcho* echo = nullptr) {
  auto process = Process::start({.argv = {"/bin/sh", "-c", script},
                                 .environment = {{"PATH", "/usr/bin:/bin"}},
                                 .output = log.output(),
                                 .errors = log.errors()});
  ASSERT_TRUE(process.ok()) << process.error().message;
  log.close_worker_ends();
  while (log.descriptors()[0] >= 0 || log.descriptors()[1] >= 0) {
    std::array<pollfd, 2> watched{
        pollfd{.fd = log.descriptors()[0], .events = POLLIN, .revents = 0},
        pollfd{.fd = log.descriptors()[1], .events = POLLIN, .revents = 0}};
    ::poll(watched.data(), watched.size(), -1);
    log.drain(echo);
  }
  EXPECT_EQ(wait_exit(*process).code, 0);
  log.finish(echo);
}

TEST(RankLog, WritesBothStreamsToTheFileAndKeepsTheTail) {
  const TestFolder folder("rank_log_test");
  auto log = RankLog::open({.path = folder.at("worker-0.log")});
  ASSERT_TRUE(log.ok()) << log.error().message;

  run("echo out; printf 'half a line'; echo err >&2", *log);

  const std::string text = folder.read("worker-0.log");
  EXPECT_NE(text.find("out\n"), std::string::npos);
  EXPECT_NE(text.find("err\n"), std::string::npos);
  EXPECT_NE(text.find("half a line\n"), std::string::npos);
  EXPECT_EQ(log->tail(), text);
  EXPECT_EQ(log->problem(), "");
}

TEST(RankLog, LetsAnotherHearEachLine) {
  std::vector<std::string> heard;
  auto log = RankLog::open({.on_line = [&](std::string_view line) { heard.emplace_back(line); }});

  run("printf 'one\\r\\ntwo\\rthree'", *log);

  EXPECT_EQ(heard, (std::vector<std::string>{"one\r\n", "two\r", "three\n"}));
}

TEST(RankLog, NeverMixesTwoStreamsInALine) {
  const TestFolder folder("rank_log_test");
  auto log = RankLog::open({.path = folder.at("worker-0.log")});

  run("for i in 1 2 3 4 5 6 7 8 9; do printf a; printf b >&2; printf a; printf b >&2; echo; "
      "echo >&2; done",
      *log);

  std::istringstream lines(folder.read("worker-0.log"));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_TRUE(line == "aa" || line == "bb") << line;
  }
  EXPECT_EQ(count, 18);
}

TEST(RankLog, ShowsLinesOfSeveralWorkersWhole) {
  TestPipe terminal;
  LineEcho echo(terminal.write_end.get());
  auto first = RankLog::open({.prefix = "[0] "});
  auto second = RankLog::open({.prefix = "[1] "});
  ASSERT_EQ(::write(first->output(), "ab", 2), 2);
  first->drain(&echo);
  ASSERT_EQ(::write(second->output(), "x\n7%\r8%", 7), 7);
  second->drain(&echo);
  ASSERT_EQ(::write(first->output(), "c\n", 2), 2);
  first->drain(&echo);

  second->finish(&echo);

  EXPECT_EQ(terminal.read_all(), "[1] x\n[1] 7%\n[0] abc\n[1] 8%\n");
}

TEST(RankLog, LetsAProgressBarWriteOverItselfWhenItIsAlone) {
  TestPipe terminal;
  LineEcho echo(terminal.write_end.get());
  auto log = RankLog::open({});
  ASSERT_EQ(::write(log->errors(), "7%\r8%\r\n", 7), 7);

  log->finish(&echo);

  EXPECT_EQ(terminal.read_all(), "7%\r8%\r\n");
}

TEST(RankLog, KeepsAnyBytes) {
  const TestFolder folder("rank_log_test");
  auto log = RankLog::open({.path = folder.at("worker-0.log")});
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) {
    bytes += static_cast<char>(byte);
  }
  ASSERT_EQ(::write(log->output(), bytes.data(), bytes.size()), 256);

  log->finish(nullptr);

  EXPECT_EQ(folder.read("worker-0.log"), bytes + "\n");
}

TEST(RankLog, BoundsLinesAndTheTail) {
  auto log = RankLog::open({.line_max = 100, .tail_max = 1000});

  run("yes word | head -n 5000; head -c 1000000 /dev/zero; echo; echo the end", *log);

  EXPECT_LE(log->tail().size(), 2000U);
  EXPECT_TRUE(log->tail().starts_with("word\n"));
  EXPECT_TRUE(log->tail().ends_with(" [... 999900 bytes cut]\nthe end\n"));
}

TEST(RankLog, DrainsOnWhenTheDiskIsFullAndSaysSo) {
  const TestFolder folder("rank_log_test");
  std::filesystem::create_symlink("/dev/full", folder.at("worker-0.log"));
  auto log = RankLog::open({.path = folder.at("worker-0.log")});
  ASSERT_TRUE(log.ok());

  run("yes word | head -n 100000; echo the end", *log);  // More than a pipe holds.

  EXPECT_TRUE(log->tail().ends_with("the end\n"));
  EXPECT_NE(log->problem().find("No space left"), std::string::npos) << log->problem();
}

TEST(RankLog, GoesOnWithAWholeLineWhenTheDiskHasRoomAgain) {
  const TestFolder folder("rank_log_test");
  const std::string path = folder.write("worker-0.log", "");
  auto log = RankLog::open({.path = path});
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 4, .rlim_max = before.rlim_max};
  ASSERT_EQ(::write(log->output(), "123456\n", 7), 7);

  ::setrlimit(RLIMIT_FSIZE, &small);
  log->drain(nullptr);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_EQ(::write(log->output(), "next\n", 5), 5);
  log->finish(nullptr);

  EXPECT_EQ(folder.read("worker-0.log"), "1234\nnext\n");
  EXPECT_NE(log->problem(), "");
}

TEST(RankLog, DoesNotWaitForAnEndThatSomeoneElseHolds) {
  auto log = RankLog::open({});
  ASSERT_EQ(::write(log->output(), "words\n", 6), 6);

  log->finish(nullptr);  // The worker's ends are still open here.

  EXPECT_EQ(log->tail(), "words\n");
}

TEST(RankLog, SaysWhichFileCannotBeWritten) {
  const auto log = RankLog::open({.path = "/no/such/folder/worker-0.log"});

  ASSERT_FALSE(log.ok());
  EXPECT_NE(log.error().message.find("/no/such/folder/worker-0.log"), std::string::npos);
}

}  // namespace
}  // namespace rubato
