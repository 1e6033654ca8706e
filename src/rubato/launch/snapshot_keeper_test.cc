#include "rubato/launch/snapshot_keeper.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <sys/mman.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include "rubato/wire/snapshot_file.h"

namespace rubato {
namespace {

/// Snapshots of one short section.
class SnapshotKeeperTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              ("rubato-" + std::to_string(::getpid()) + "-" + info->name());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static SnapshotMemory snapshot(std::uint64_t worker, std::uint32_t slot, std::uint64_t step) {
    const std::array<std::byte, 4> section{};
    const std::array<std::size_t, 1> sizes{section.size()};
    std::vector<std::byte> bytes(snapshot_bytes(sizes));
    const auto written = encode_snapshot({.cursor = {.step = step}, .sections = {section}}, bytes);
    EXPECT_TRUE(written.ok());
    Descriptor memory(::memfd_create("test-snapshot", MFD_CLOEXEC));
    EXPECT_EQ(::write(memory.get(), bytes.data(), *written), static_cast<ssize_t>(*written));
    return {.worker = WorkerId{worker},
            .slot = slot,
            .step = step,
            .bytes = *written,
            .memory = std::move(memory)};
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      names.push_back(entry.path().filename());
    }
    std::ranges::sort(names);
    return names;
  }

  std::filesystem::path folder_;
};

TEST_F(SnapshotKeeperTest, KeepsTheNewestInMemoryAndFreesTheOneBefore) {
  SnapshotKeeper keeper;
  EXPECT_FALSE(keeper.newest().has_value());

  keeper.keep(snapshot(1, 0, 10));
  EXPECT_TRUE(keeper.take_freed().empty());
  keeper.keep(snapshot(1, 1, 20));

  EXPECT_EQ(keeper.newest()->step, 20U);
  const auto freed = keeper.take_freed();
  ASSERT_EQ(freed.size(), 1U);
  EXPECT_EQ(freed[0].slot, 0U);
  EXPECT_EQ(freed[0].worker, WorkerId{1});
}

TEST_F(SnapshotKeeperTest, DoesNotGoBackToTheLastWordsOfAFormerLeader) {
  SnapshotKeeper keeper;
  keeper.keep(snapshot(2, 0, 20));

  keeper.keep(snapshot(1, 3, 10));

  EXPECT_EQ(keeper.newest()->step, 20U);
  const auto freed = keeper.take_freed();
  ASSERT_EQ(freed.size(), 1U);
  EXPECT_EQ(freed[0].worker, WorkerId{1});
  EXPECT_EQ(freed[0].slot, 3U);
}

TEST_F(SnapshotKeeperTest, WritesToDiskWhatTheNextJobBeginsWith) {
  {
    SnapshotKeeper keeper;
    ASSERT_TRUE(keeper.use_directory(folder_).ok());
    EXPECT_FALSE(keeper.newest().has_value());
    keeper.keep(snapshot(1, 0, 10));
    keeper.flush();
    EXPECT_THAT(files(), testing::ElementsAre("snapshot-000001-step-10"));
    keeper.keep(snapshot(1, 1, 20));
  }

  SnapshotKeeper next;
  const auto warnings = next.use_directory(folder_);

  ASSERT_TRUE(warnings.ok());
  EXPECT_TRUE(warnings->empty());
  EXPECT_EQ(next.newest()->step, 20U) << "whoever goes waits until all is written";
}

TEST_F(SnapshotKeeperTest, PassesOverAFileThatIsDamagedAndSaysSo) {
  {
    SnapshotKeeper keeper;
    ASSERT_TRUE(keeper.use_directory(folder_).ok());
    keeper.keep(snapshot(1, 0, 10));
    keeper.flush();
    keeper.keep(snapshot(1, 1, 20));
  }
  std::filesystem::resize_file(folder_ / "snapshot-000002-step-20", 10);

  SnapshotKeeper next;
  const auto warnings = next.use_directory(folder_);

  ASSERT_TRUE(warnings.ok());
  ASSERT_EQ(warnings->size(), 1U);
  EXPECT_THAT(warnings->front(), testing::HasSubstr("snapshot-000002-step-20"));
  EXPECT_EQ(next.newest()->step, 10U);
}

TEST_F(SnapshotKeeperTest, TellsWhatCouldNotBeWritten) {
  SnapshotKeeper keeper;
  ASSERT_TRUE(keeper.use_directory(folder_).ok());
  SnapshotMemory bad = snapshot(1, 0, 10);
  ASSERT_EQ(::pwrite(bad.memory.get(), "nonsense", 8, 0), 8);

  keeper.keep(std::move(bad));
  keeper.flush();

  EXPECT_EQ(keeper.take_problems().size(), 1U);
  EXPECT_TRUE(keeper.take_problems().empty());
  EXPECT_TRUE(files().empty());
}

TEST_F(SnapshotKeeperTest, FreesEverySnapshotOnceHoweverFastTheyCome) {
  std::vector<std::uint32_t> freed;
  {
    SnapshotKeeper keeper;
    ASSERT_TRUE(keeper.use_directory(folder_).ok());
    for (std::uint32_t i = 0; i < 20; ++i) {
      keeper.keep(snapshot(1, i, i));
    }
    keeper.flush();
    for (const FreedSnapshot& each : keeper.take_freed()) {
      freed.push_back(each.slot);
    }
  }
  std::ranges::sort(freed);

  ASSERT_EQ(freed.size(), 19U) << "all but the newest";
  for (std::uint32_t i = 0; i < 19; ++i) {
    EXPECT_EQ(freed[i], i);
  }
}

}  // namespace
}  // namespace rubato
