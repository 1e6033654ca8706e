// No room, and disks that fail: an append may not be done by half, and must work again later.
#include <csignal>
#include <fstream>
#include <sched.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include "rubato/live/journal/journal_scene_test.h"

namespace rubato {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr int kPassed = 0;
constexpr int kFailed = 1;
constexpr int kNotPermitted = 2;

class JournalFullDiskTest : public JournalScene {
 protected:
  // Appends larger and larger batches until one fails; returns the number of jobs that are there.
  [[nodiscard]] static std::uint64_t fill(JournalStore& store, Error& error) {
    std::uint64_t job = store.last_sequence();
    for (std::uint64_t size = 1;; ++size) {
      auto batch = submissions(job + 1, job + size, 4'000);
      const Status status = store.append(batch);
      if (!status) {
        error = status.error();
        return job;
      }
      job += size;
    }
  }

  // Whether exactly these jobs are there, and one more can be added.
  [[nodiscard]] static bool holds_and_goes_on(JournalStore& store, std::uint64_t jobs) {
    auto next = submissions(jobs + 1, jobs + 1);
    return jobs_of(store.history()).size() == jobs && store.last_event() == jobs &&
           store.append(next).ok() && jobs_of(store.history()).size() == jobs + 1;
  }

  // What a child does on a small file system of its own: fills it, then frees some room.
  [[nodiscard]] int with_small_file_system() const {
    if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
      return kNotPermitted;
    }
    ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    if (::mount("none", folder_.c_str(), "tmpfs", 0, "size=2m") != 0) {
      return kNotPermitted;
    }
    const std::string ballast = folder_ + "/ballast";
    std::ofstream(ballast) << std::string(400'000, 'b');
    std::uint64_t jobs = 0;
    {
      JournalStore store = opened();
      Error error;
      jobs = fill(store, error);
      EXPECT_THAT(error.message, HasSubstr("journal.sqlite: the disk is full"));
      EXPECT_GT(jobs, 10U);
      EXPECT_EQ(jobs_of(store.history()).size(), jobs);
      EXPECT_FALSE(store.add_checkpoint(std::string(100'000, 'c')).ok());
      EXPECT_FALSE(store.history().newest_checkpoint()->has_value());

      fs::remove(ballast);
      EXPECT_TRUE(holds_and_goes_on(store, jobs));
    }
    EXPECT_EQ(opened().last_sequence(), jobs + 1);
    return HasFailure() ? kFailed : kPassed;
  }
};

// The connection that writes, seen from outside.
sqlite3* writing_connection = nullptr;

int note_connection(sqlite3* database, char**, const void*) {
  if (sqlite3_db_readonly(database, "main") == 0) {
    writing_connection = database;
  }
  return SQLITE_OK;
}

int first_column(void* text, int, char** values, char**) {
  *static_cast<std::string*>(text) = values[0];
  return 0;
}

std::string asked(const char* query) {
  std::string text;
  sqlite3_exec(writing_connection, query, first_column, &text, nullptr);
  return text;
}

TEST_F(JournalFullDiskTest, WaitsForTheDiskAtEachCommit) {
  sqlite3_auto_extension(reinterpret_cast<void (*)()>(note_connection));
  const JournalStore store = opened();
  sqlite3_reset_auto_extension();
  constexpr const char* kFull = "2";

  ASSERT_NE(writing_connection, nullptr);
  EXPECT_EQ(asked("PRAGMA synchronous"), kFull);
  EXPECT_EQ(asked("PRAGMA journal_mode"), "wal");
}

TEST_F(JournalFullDiskTest, KeepsWholeBatchesAndGoesOnWhenPagesAreThereAgain) {
  sqlite3_auto_extension(reinterpret_cast<void (*)()>(note_connection));
  JournalStore store = opened();
  sqlite3_reset_auto_extension();
  ASSERT_NE(writing_connection, nullptr);
  asked("PRAGMA max_page_count=100");

  Error error;
  const std::uint64_t jobs = fill(store, error);

  EXPECT_THAT(error.message, HasSubstr("journal.sqlite: the disk is full"));
  EXPECT_EQ(error.code, ErrorCode::Io);
  EXPECT_GT(jobs, 10U);
  asked("PRAGMA max_page_count=1000");
  EXPECT_TRUE(holds_and_goes_on(store, jobs));
}

TEST_F(JournalFullDiskTest, KeepsWholeBatchesAndGoesOnWhenASmallDiskHasRoomAgain) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(with_small_file_system());
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNotPermitted) {
    GTEST_SKIP() << "mounting a small file system is not permitted here";
  }
  EXPECT_EQ(WEXITSTATUS(status), kPassed);
}

TEST_F(JournalFullDiskTest, KeepsWholeBatchesWhenWritesFail) {
  JournalStore store = opened();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 300'000, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);

  Error error;
  const std::uint64_t jobs = fill(store, error);

  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(error.message, HasSubstr("journal.sqlite: the disk failed"));
  EXPECT_TRUE(holds_and_goes_on(store, jobs));
}

}  // namespace
}  // namespace rubato
