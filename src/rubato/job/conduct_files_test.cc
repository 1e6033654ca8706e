#include "rubato/job/conduct_files.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <gtest/gtest.h>

namespace rubato {
namespace {

class ConductFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "rubato-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    ASSERT_TRUE(files().prepare().ok());
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  [[nodiscard]] ConductFiles files() const { return ConductFiles(root_ + "/7"); }

  std::string root_;
};

TEST_F(ConductFilesTest, KeepsAnOrder) {
  wire::ConductOrder order;
  order.mutable_run()->set_order(~std::uint64_t{0});
  order.mutable_run()->mutable_spec()->add_command("a\"b\n\xc3\xa4");
  order.add_devices("3");

  ASSERT_TRUE(files().write_order(order).ok());

  const auto read = files().read_order();
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->SerializeAsString(), order.SerializeAsString());
}

TEST_F(ConductFilesTest, SaysWhatIsWrongWithAFile) {
  EXPECT_EQ(files().read_ended().error().code, ErrorCode::NotFound);

  std::ofstream(files().directory() + "/ended.json") << "{ \"outcome\": 1 ";

  const auto read = files().read_ended();
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, ErrorCode::BadInput);
  EXPECT_NE(read.error().message.find("ended.json"), std::string::npos);
}

TEST_F(ConductFilesTest, OnlyOneHoldsTheLock) {
  {
    const auto first = files().try_lock();

    EXPECT_TRUE(first.has_value());
    EXPECT_FALSE(files().try_lock().has_value());
  }
  EXPECT_TRUE(files().try_lock().has_value());
}

TEST_F(ConductFilesTest, TheNewestSnapshotIsTheOneThatWasWrittenLast) {
  EXPECT_EQ(files().newest_snapshot_step(), 0U);

  for (const char* name : {"snapshot-9-step-100", "snapshot-10-step-60", "snapshot-x-step-1",
                           "snapshot-11-step-70.new"}) {
    std::ofstream(files().snapshots() + "/" + name) << "x";
  }

  EXPECT_EQ(files().newest_snapshot_step(), 60U) << "the job had gone back";
}

TEST_F(ConductFilesTest, ForgettingKeepsTheLogsAndTheStateOfWhatMayGoOn) {
  ASSERT_TRUE(files().write_ended({}).ok());
  std::ofstream(files().merged_log()) << "words";

  files().forget(/*keeps_state=*/true);
  EXPECT_TRUE(std::filesystem::exists(files().snapshots()));
  EXPECT_FALSE(files().read_ended().ok());
  EXPECT_TRUE(files().read_forgotten().ok());

  files().forget(/*keeps_state=*/false);
  EXPECT_FALSE(std::filesystem::exists(files().snapshots()));
  EXPECT_TRUE(std::filesystem::exists(files().merged_log()));

  files().clear_ended();
  EXPECT_FALSE(files().read_forgotten().ok());
}

}  // namespace
}  // namespace rubato
