#include "rubato/live/journal/checkpoint_file.h"

#include <filesystem>
#include <fstream>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

namespace rubato {
namespace {

/// A path in a folder that goes with the test.
class CheckpointFile : public testing::Test {
 protected:
  CheckpointFile() {
    std::string pattern = (std::filesystem::temp_directory_path() / "rubato-state-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~CheckpointFile() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path() const { return folder_ + "/state"; }

  void overwrite(std::streamoff at, char byte) const {
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at, at < 0 ? std::ios::end : std::ios::beg);
    file.put(byte);
  }

 private:
  std::string folder_;
};

TEST_F(CheckpointFile, GivesBackWhatWasWrittenLast) {
  ASSERT_TRUE(write_checkpoint_file(path(), {.sequence = 7, .bytes = "first"}).ok());
  ASSERT_TRUE(
      write_checkpoint_file(path(), {.sequence = 9, .bytes = std::string("a\n\0b", 4)}).ok());

  const auto read = read_checkpoint_file(path());

  ASSERT_TRUE(read);
  EXPECT_EQ(read->sequence, 9U);
  EXPECT_EQ(read->bytes, std::string("a\n\0b", 4));
}

TEST_F(CheckpointFile, IsNotReadIfAnythingOfItIsOtherwise) {
  EXPECT_FALSE(read_checkpoint_file(path()));
  ASSERT_TRUE(write_checkpoint_file(path(), {.sequence = 17, .bytes = "some bytes"}).ok());
  overwrite(-1, 'x');
  EXPECT_FALSE(read_checkpoint_file(path())) << "a byte";
  ASSERT_TRUE(write_checkpoint_file(path(), {.sequence = 17, .bytes = "some bytes"}).ok());
  overwrite(15, '2');  // The first digit of the sequence.
  EXPECT_FALSE(read_checkpoint_file(path())) << "the sequence";
  ASSERT_TRUE(write_checkpoint_file(path(), {.sequence = 17, .bytes = "some bytes"}).ok());
  std::filesystem::resize_file(path(), std::filesystem::file_size(path()) - 1);
  EXPECT_FALSE(read_checkpoint_file(path())) << "the length";
}

TEST_F(CheckpointFile, AChildWritesTheStateOfTheMomentItBegan) {
  std::string state = "before";
  CheckpointChild child(path());

  ASSERT_TRUE(child.begin(3, [&] { return state; }).ok());
  state = "after";
  while (child.is_busy()) {
    std::this_thread::yield();
  }

  const auto read = read_checkpoint_file(path());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->sequence, 3U);
  EXPECT_EQ(read->bytes, "before");
}

}  // namespace
}  // namespace rubato
