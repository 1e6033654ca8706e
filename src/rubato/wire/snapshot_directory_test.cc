#include "rubato/wire/snapshot_directory.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/wire/snapshot_file.h"

namespace rubato {
namespace {

namespace fs = std::filesystem;

std::vector<std::byte> snapshot_at(std::uint64_t step, std::size_t payload = 100) {
  const std::vector<std::byte> contents(payload, static_cast<std::byte>(step));
  const std::vector<std::size_t> sizes = {payload};
  std::vector<std::byte> bytes(snapshot_bytes(sizes));
  EXPECT_TRUE(encode_snapshot({.cursor = {.step = step}, .sections = {contents}}, bytes).ok());
  return bytes;
}

class SnapshotDirectoryTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "rubato-snapshots-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { fs::remove_all(root_); }

  [[nodiscard]] SnapshotDirectory opened(std::size_t keep = 2) const {
    auto directory = SnapshotDirectory::open(root_ + "/job", keep);
    EXPECT_TRUE(directory.ok());
    return std::move(directory).value();
  }
  [[nodiscard]] std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(root_ + "/job")) {
      found.insert(entry.path().filename().string());
    }
    return found;
  }
  void damage(const std::string& name, const std::string& with) const {
    std::ofstream file(root_ + "/job/" + name, std::ios::binary | std::ios::trunc);
    file << with;
  }
  // Runs something in a child whose files may not exceed some bytes; returns its wait status.
  template <typename Work>
  [[nodiscard]] static int in_child_with_small_files(rlim_t bytes, Work work) {
    const pid_t child = ::fork();
    if (child == 0) {
      const rlimit limit{.rlim_cur = bytes, .rlim_max = bytes};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      ::_exit(work());
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return status;
  }

  std::string root_{};
};

std::uint64_t newest_step(SnapshotDirectory& directory) {
  const auto found = directory.newest();
  EXPECT_TRUE(found.ok());
  return found->snapshot ? found->snapshot->cursor.step : 0;
}

TEST_F(SnapshotDirectoryTest, HasNothingAtFirst) {
  auto directory = opened();

  const auto found = directory.newest();

  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->snapshot.has_value());
  EXPECT_TRUE(found->warnings.empty());
}

TEST_F(SnapshotDirectoryTest, KeepsTheNewest) {
  auto directory = opened(2);
  for (const std::uint64_t step : {10U, 20U, 30U}) {
    const auto path = directory.write(snapshot_at(step));
    ASSERT_TRUE(path.ok());
    EXPECT_TRUE(fs::exists(*path));
  }

  EXPECT_THAT(names(), testing::ElementsAre("snapshot-000002-step-20", "snapshot-000003-step-30"));
  const auto found = directory.newest();
  ASSERT_TRUE(found->snapshot.has_value());
  EXPECT_EQ(found->snapshot->bytes, snapshot_at(30));
  EXPECT_EQ(found->snapshot->cursor.step, 30U);
}

TEST_F(SnapshotDirectoryTest, GoesOnCountingAfterARestart) {
  { ASSERT_TRUE(opened().write(snapshot_at(10)).ok()); }
  auto directory = opened();

  ASSERT_TRUE(directory.write(snapshot_at(5)).ok());  // A return to an older state is newer.

  EXPECT_EQ(newest_step(directory), 5U);
}

TEST_F(SnapshotDirectoryTest, FallsBackAndSaysWhy) {
  auto directory = opened(4);
  for (const std::uint64_t step : {1U, 2U, 3U, 4U}) {
    ASSERT_TRUE(directory.write(snapshot_at(step)).ok());
  }
  damage("snapshot-000004-step-4", "");
  damage("snapshot-000003-step-3", "something else");
  fs::resize_file(root_ + "/job/snapshot-000002-step-2", 80);

  const auto found = directory.newest();

  ASSERT_TRUE(found->snapshot.has_value());
  EXPECT_EQ(found->snapshot->cursor.step, 1U);
  EXPECT_THAT(
      found->warnings,
      testing::ElementsAre(
          testing::HasSubstr("'snapshot-000004-step-4' is passed over: truncated: 0 bytes"),
          testing::HasSubstr("'snapshot-000003-step-3' is passed over: not a snapshot"),
          testing::HasSubstr("'snapshot-000002-step-2' is passed over: truncated: 80 bytes")));
}

TEST_F(SnapshotDirectoryTest, FindsNothingIfAllAreDamaged) {
  auto directory = opened();
  ASSERT_TRUE(directory.write(snapshot_at(1)).ok());
  damage("snapshot-000001-step-1", "RUBATOSN");

  const auto found = directory.newest();

  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->snapshot.has_value());
  EXPECT_EQ(found->warnings.size(), 1U);
}

TEST_F(SnapshotDirectoryTest, DoesNotCountDamagedOnesAmongThoseItKeeps) {
  {
    auto directory = opened(2);
    ASSERT_TRUE(directory.write(snapshot_at(1)).ok());
    ASSERT_TRUE(directory.write(snapshot_at(2)).ok());
  }
  damage("snapshot-000002-step-2", "RUBATOSN");
  auto directory = opened(2);

  ASSERT_TRUE(directory.write(snapshot_at(3)).ok());

  EXPECT_THAT(names(), testing::ElementsAre("snapshot-000001-step-1", "snapshot-000003-step-3"));
}

TEST_F(SnapshotDirectoryTest, RefusesBytesThatAreNoSnapshot) {
  auto directory = opened();
  auto bytes = snapshot_at(1);
  bytes[90] ^= std::byte{1};

  const auto written = directory.write(bytes);

  ASSERT_FALSE(written.ok());
  EXPECT_THAT(written.error().message, testing::HasSubstr("checksum"));
  EXPECT_TRUE(names().empty());
}

TEST_F(SnapshotDirectoryTest, LosesNothingWhenTheDiskIsFull) {
  auto directory = opened(1);
  ASSERT_TRUE(directory.write(snapshot_at(1)).ok());

  const int status = in_child_with_small_files(500, [&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const auto written = directory.write(snapshot_at(2, 5000));
    const bool is_named = !written.ok() && written.error().message.find(
                                               "snapshot-000002-step-2.part") != std::string::npos;
    return is_named ? 0 : 1;
  });

  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_THAT(names(), testing::ElementsAre("snapshot-000001-step-1"));
  EXPECT_EQ(newest_step(directory), 1U);
}

TEST_F(SnapshotDirectoryTest, CleansUpAfterAWriterThatWasKilled) {
  auto directory = opened(1);
  ASSERT_TRUE(directory.write(snapshot_at(1)).ok());

  const int status = in_child_with_small_files(500, [&] {
    std::signal(SIGXFSZ, SIG_DFL);  // Kills the child in the middle of its write.
    return directory.write(snapshot_at(2, 5000)).ok() ? 0 : 1;
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_EQ(names().size(), 2U) << "nothing was left behind, so nothing is tested";
  auto after = opened(1);

  EXPECT_THAT(names(), testing::ElementsAre("snapshot-000001-step-1"));
  EXPECT_EQ(newest_step(after), 1U);
}

TEST_F(SnapshotDirectoryTest, LeavesOtherFilesAlone) {
  auto directory = opened(1);
  damage("notes.txt", "mine");
  damage("snapshot-of-last-year", "mine too");
  damage("snapshot-000009-step-9.txt", "and this");
  for (const std::uint64_t step : {1U, 2U}) {
    ASSERT_TRUE(directory.write(snapshot_at(step)).ok());
  }

  EXPECT_EQ(newest_step(directory), 2U);
  EXPECT_THAT(names(), testing::ElementsAre("notes.txt", "snapshot-000002-step-2",
                                            "snapshot-000009-step-9.txt", "snapshot-of-last-year"));
}

TEST_F(SnapshotDirectoryTest, IsMadeWithAllAboveIt) {
  auto directory = SnapshotDirectory::open(root_ + "/a/b/c/", 1);

  ASSERT_TRUE(directory.ok());
  EXPECT_TRUE(directory->write(snapshot_at(1)).ok());
}

TEST_F(SnapshotDirectoryTest, SaysThatItCannotBeMade) {
  std::ofstream(root_ + "/job") << "a file";

  EXPECT_FALSE(SnapshotDirectory::open(root_ + "/job/below").ok());
}

}  // namespace
}  // namespace rubato
