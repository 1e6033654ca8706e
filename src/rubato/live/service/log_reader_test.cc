#include "rubato/live/service/log_reader.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/base/random.h"

namespace rubato {
namespace {

class LogReaderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "rubato-log-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = folder_ + "/log";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& text) const {
    std::ofstream(path_, std::ios::binary | std::ios::app) << text;
  }
  [[nodiscard]] LogExcerpt read(const LogQuery& query) const {
    const auto excerpt = read_log(path_, query);
    EXPECT_TRUE(excerpt.ok());
    return *excerpt;
  }

  std::string folder_{};
  std::string path_{};
};

TEST_F(LogReaderTest, FindsNothingInAMissingFile) {
  const LogExcerpt excerpt = read({.from = 7});

  EXPECT_EQ(excerpt.text, "");
  EXPECT_EQ(excerpt.next, 0U);
  EXPECT_EQ(excerpt.size, 0U);
}

TEST_F(LogReaderTest, LeavesALineThatIsStillWrittenForLater) {
  write("one\ntwo\nthr");

  const LogExcerpt first = read({});
  EXPECT_EQ(first.text, "one\ntwo\n");
  EXPECT_EQ(first.next, 8U);
  EXPECT_EQ(first.size, 11U);
  EXPECT_EQ(read({.from = first.next}).text, "");

  write("ee\n");
  EXPECT_EQ(read({.from = first.next}).text, "three\n");
}

TEST_F(LogReaderTest, GivesALastLineWithoutItsEndWhenTheJobHasEnded) {
  write("one\ntwo");

  EXPECT_EQ(read({.is_ended = true}).text, "one\ntwo");
  EXPECT_EQ(read({.bytes_max = 5, .is_ended = true}).text, "one\n");
}

TEST_F(LogReaderTest, CutsAtTheLastLineEndThatFits) {
  write("one\ntwo\nthree\n");

  EXPECT_EQ(read({.bytes_max = 9}).text, "one\ntwo\n");
  EXPECT_EQ(read({.from = 4, .bytes_max = 4}).text, "two\n");
}

TEST_F(LogReaderTest, CutsALineThatIsTooLong) {
  write("123456\n");

  const LogExcerpt excerpt = read({.bytes_max = 4});

  EXPECT_EQ(excerpt.text, "1234");
  EXPECT_EQ(read({.from = excerpt.next, .bytes_max = 4}).text, "56\n");
}

TEST_F(LogReaderTest, ContinuesAtTheEndWhenAskedFromBeyondIt) {
  write("one\n");

  const LogExcerpt excerpt = read({.from = ~std::uint64_t{0}});

  EXPECT_EQ(excerpt.text, "");
  EXPECT_EQ(excerpt.next, 4U);
}

TEST_F(LogReaderTest, PutsPiecesOfAnySizeTogetherAgain) {
  Random random(1);
  std::string all;
  for (int i = 0; i < 300; ++i) {
    all += std::string(static_cast<std::size_t>(random.integer(0, 40)), 'x') + '\n';
  }
  all += "no end";
  write(all);
  for (const std::size_t bytes : {1U, 2U, 7U, 41U, 100'000U}) {
    std::string together;
    LogExcerpt part;
    do {
      part = read({.from = part.next, .bytes_max = bytes, .is_ended = true});
      together += part.text;
    } while (!part.text.empty());

    EXPECT_EQ(together, all);
    EXPECT_EQ(part.next, part.size);
  }
}

TEST_F(LogReaderTest, RefusesWhatIsNoPlainFile) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_FALSE(read_log(path_, {}).ok());

  std::filesystem::remove(path_);
  std::filesystem::create_symlink("/etc/passwd", path_);
  EXPECT_FALSE(read_log(path_, {}).ok());

  EXPECT_FALSE(read_log(folder_, {}).ok());
}

}  // namespace
}  // namespace rubato
