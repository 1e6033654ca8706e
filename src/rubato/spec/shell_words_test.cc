#include "rubato/spec/shell_words.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace rubato {
namespace {

using Words = std::vector<std::string>;

TEST(ShellWords, CutsAsAShellDoes) {
  EXPECT_EQ(shell_words("python3  train.py\t--lr 0.1").value(),
            (Words{"python3", "train.py", "--lr", "0.1"}));
  EXPECT_EQ(shell_words(R"(a 'b c' "d e"f \  '')").value(), (Words{"a", "b c", "d ef", " ", ""}));
  EXPECT_EQ(shell_words(R"("a\"b\\c\d" '$HOME')").value(), (Words{R"(a"b\c\d)", "$HOME"}));
  EXPECT_EQ(shell_words("  ").value(), Words{});
}

TEST(ShellWords, RefusesWhatNeedsAShell) {
  for (const char* text : {"a | b", "a > b", "echo $HOME", "ls *", "a\nb", "a & b", "\"$HOME\"",
                           "a; b", "'open", "\"open", "end\\"}) {
    EXPECT_FALSE(shell_words(text)) << text;
  }
}

RC_GTEST_PROP(ShellWords, ReadsBackWhatItWrites, (const Words& words)) {
  RC_ASSERT(shell_words(shell_text(words)).value() == words);
}

}  // namespace
}  // namespace rubato
