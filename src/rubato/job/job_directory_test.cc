#include "rubato/job/job_directory.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace rubato {
namespace {

namespace fs = std::filesystem;

class JobDirectoryTest : public testing::Test {
 protected:
  JobDirectoryTest() {
    temporary_ = fs::temp_directory_path() /
                 folder_name(testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(temporary_);
  }
  ~JobDirectoryTest() override { fs::remove_all(temporary_); }

  static std::string folder_name(const std::string& test) {
    return "job-directory-" + std::to_string(::getpid()) + "-" + test;
  }
  // The directory that a process has left which was killed.
  fs::path left_by_the_killed() const {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const auto directory = JobDirectory::open("", temporary_);
      const std::string path = directory ? directory->path() : "";
      [[maybe_unused]] const auto written = ::write(ends[1], path.data(), path.size());
      ::close(ends[1]);
      ::kill(::getpid(), SIGKILL);
    }
    ::close(ends[1]);
    std::array<char, 4096> path{};
    const ssize_t length = ::read(ends[0], path.data(), path.size());
    ::close(ends[0]);
    EXPECT_EQ(::waitpid(child, nullptr, 0), child);
    return std::string(path.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  }

  fs::path temporary_;
};

TEST_F(JobDirectoryTest, IsGoneWithTheObject) {
  std::string path;
  {
    auto directory = JobDirectory::open("", temporary_);
    ASSERT_TRUE(directory.ok());
    path = directory->path();
    const JobDirectory moved = std::move(*directory);
    EXPECT_TRUE(fs::is_directory(path));
  }

  EXPECT_FALSE(fs::exists(path));
}

TEST_F(JobDirectoryTest, LeavesTheUsersAlone) {
  const fs::path wanted = temporary_ / "deep" / "job";
  { ASSERT_TRUE(JobDirectory::open(wanted, temporary_).ok()); }

  EXPECT_TRUE(fs::is_directory(wanted));
}

TEST_F(JobDirectoryTest, SweepsWhatAKilledProcessHasLeft) {
  const fs::path left = left_by_the_killed();
  ASSERT_TRUE(fs::is_directory(left));

  const auto next = JobDirectory::open("", temporary_);

  ASSERT_TRUE(next.ok());
  EXPECT_FALSE(fs::exists(left));
}

TEST_F(JobDirectoryTest, SweepsNothingOfTheLiving) {
  const auto first = JobDirectory::open("", temporary_);
  ASSERT_TRUE(first.ok());

  const auto second = JobDirectory::open("", temporary_);

  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(fs::is_directory(first->path()));
}

TEST_F(JobDirectoryTest, SweepsNothingThatIsNotOfAJob) {
  fs::create_directories(temporary_ / "rubato-abcdef");  // Without an owner.
  fs::create_directories(temporary_ / "rubato-longer-name");
  std::ofstream(temporary_ / "rubato-longer-name" / "owner") << "";
  const fs::path elsewhere = temporary_ / "elsewhere";
  fs::create_directories(elsewhere);
  std::ofstream(elsewhere / "owner") << "";
  fs::create_directory_symlink(elsewhere, temporary_ / "rubato-linked");

  ASSERT_TRUE(JobDirectory::open("", temporary_).ok());

  EXPECT_TRUE(fs::exists(temporary_ / "rubato-abcdef"));
  EXPECT_TRUE(fs::exists(temporary_ / "rubato-longer-name" / "owner"));
  EXPECT_TRUE(fs::exists(elsewhere / "owner"));
}

TEST_F(JobDirectoryTest, SaysWhereItCannotBe) {
  const auto directory = JobDirectory::open("", temporary_ / "missing");

  ASSERT_FALSE(directory.ok());
  EXPECT_NE(directory.error().message.find("missing"), std::string::npos);
}

}  // namespace
}  // namespace rubato
