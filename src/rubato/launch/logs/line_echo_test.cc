#include "rubato/launch/logs/line_echo.h"

#include <sstream>

#include "rubato/launch/process/process_scene_test.h"

namespace rubato {
namespace {

TEST(LineEcho, WritesLinesWithTheirPrefix) {
  TestPipe pipe;
  LineEcho echo(pipe.write_end.get());

  echo.write("[3] ", "hello\n");
  echo.write("", std::string("a\0b\n", 4));

  EXPECT_FALSE(echo.is_waiting());
  EXPECT_EQ(pipe.read_all(), std::string("[3] hello\na\0b\n", 14));
}

TEST(LineEcho, WaitsForAReaderThatIsSlowAndTellsWhatItLost) {
  TestPipe pipe;
  LineEcho echo(pipe.write_end.get(), /*waiting_max=*/3000);
  const std::string line = std::string(999, 'x') + "\n";
  int written = 0;
  while (!echo.is_waiting()) {
    echo.write("", line);
    ++written;
  }

  for (int i = 0; i < 10; ++i) {
    echo.write("", line);  // Would block for ever if it waited.
  }
  std::string got;
  while (echo.is_waiting()) {
    for (int i = 0; i < 8; ++i) {
      got += pipe.read_line() + "\n";
    }
    echo.flush();
  }
  echo.write("", "after\n");
  got += pipe.read_all();

  std::istringstream lines(got);
  int whole = 0;
  std::string last;
  std::string lost;
  for (std::string text; std::getline(lines, text); last = text) {
    whole += text.size() == 999 ? 1 : 0;
    lost += text.starts_with("[rubato]") ? text : "";
  }
  EXPECT_EQ(last, "after");
  EXPECT_EQ(lost, "[rubato] " + std::to_string(written + 10 - whole) +
                      " lines are not shown here: nobody read them");
}

TEST(LineEcho, IsNotStoppedByAReaderThatLeft) {
  TestPipe pipe;
  LineEcho echo(pipe.write_end.get());
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  pipe.read_end = Descriptor();

  echo.write("", "nobody\n");
  std::signal(SIGPIPE, before);

  EXPECT_FALSE(echo.is_waiting());
}

}  // namespace
}  // namespace rubato
