// A process that appends is killed at random instants, again and again on the same file.
#include <csignal>
#include <iostream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>

#include "rubato/base/random.h"
#include "rubato/live/journal/journal_scene_test.h"

namespace rubato {
namespace {

constexpr std::uint64_t kBatch = 3;
constexpr std::uint64_t kCheckpointEvery = 4;  // Batches.

class JournalCrashTest : public JournalScene {
 protected:
  // The state that the test's controller would have after all inputs up to one.
  [[nodiscard]] static std::string state_after(std::uint64_t sequence) {
    return std::string(20'000, static_cast<char>('a' + sequence % 26)) + std::to_string(sequence);
  }

  // Appends batches until killed; tells of each one whose append() has returned.
  [[noreturn]] void append_for_ever(int told) const {
    auto store = JournalStore::open(path(), {});
    while (store.ok()) {
      const std::uint64_t job = store->last_sequence() + 1;
      auto batch = submissions(job, job + kBatch - 1, job % 7 * 1'000);
      if (!store->append(batch).ok()) {
        break;
      }
      const std::uint64_t done = store->last_sequence();
      if (::write(told, &done, sizeof(done)) != sizeof(done)) {
        break;
      }
      if (done / kBatch % kCheckpointEvery == 0 && !store->add_checkpoint(state_after(done)).ok()) {
        break;
      }
    }
    ::_exit(1);
  }

  // Kills a writer after some batches and some microseconds; returns the last input it told of.
  [[nodiscard]] std::uint64_t killed_writer(std::int64_t batches, std::int64_t micros) const {
    int pipe[2] = {};
    EXPECT_EQ(::pipe(pipe), 0);
    const pid_t writer = ::fork();
    if (writer == 0) {
      ::close(pipe[0]);
      append_for_ever(pipe[1]);
    }
    ::close(pipe[1]);
    std::uint64_t last = 0;
    for (std::int64_t i = 0; i < batches; ++i) {
      EXPECT_EQ(::read(pipe[0], &last, sizeof(last)), ssize_t{sizeof(last)});
    }
    std::this_thread::sleep_for(std::chrono::microseconds(micros));
    ::kill(writer, SIGKILL);
    int status = 0;
    ::waitpid(writer, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "the writer stopped by itself";
    while (::read(pipe[0], &last, sizeof(last)) == ssize_t{sizeof(last)}) {
    }
    ::close(pipe[0]);
    return last;
  }

  // Whole batches only, in order, with their events and keys; returns the last input.
  [[nodiscard]] std::uint64_t checked(std::uint64_t before, std::uint64_t told) const {
    const JournalStore store = opened();
    const std::uint64_t last = store.last_sequence();
    EXPECT_GE(last, told) << "an append had returned";
    EXPECT_GE(last, before);
    EXPECT_EQ(last % kBatch, 0U) << "half a batch";
    EXPECT_EQ(store.last_event(), last);
    std::uint64_t expected = before;
    for (const std::uint64_t job : jobs_of(store.history(), before)) {
      EXPECT_EQ(job, ++expected);
      EXPECT_TRUE(store.history().find_key("ada", "key-" + std::to_string(job))->has_value());
    }
    EXPECT_EQ(expected, last);
    EXPECT_FALSE(store.history().find_key("ada", "key-" + std::to_string(last + 1))->has_value());
    const auto checkpoint = store.history().newest_checkpoint();
    EXPECT_TRUE(checkpoint.ok());
    if (checkpoint->has_value()) {
      EXPECT_LE((*checkpoint)->sequence, last);
      EXPECT_EQ((*checkpoint)->bytes, state_after((*checkpoint)->sequence));
    }
    return last;
  }
};

TEST_F(JournalCrashTest, LosesNothingAndHalvesNothingWhenItsWriterIsKilled) {
  constexpr int kKills = 200;
  Random random(20'26);
  std::uint64_t last = 0;

  for (int kill = 0; kill < kKills && !HasFailure(); ++kill) {
    const std::uint64_t told = killed_writer(random.integer(0, 5), random.integer(0, 3'000));
    last = checked(last, told);
  }

  EXPECT_GT(last, std::uint64_t{kKills});
  std::cout << kKills << " kills, " << last << " inputs, none lost\n";
}

TEST_F(JournalCrashTest, IsReadWithoutItsOwnerAfterAKill) {
  const std::uint64_t told = killed_writer(3, 0);

  const auto history = JournalHistory::open(path());

  ASSERT_TRUE(history.ok()) << history.error().message;
  EXPECT_GE(jobs_of(*history).size(), told);
}

TEST_F(JournalCrashTest, IsWholeOrNewWhenKilledWhileItIsMade) {
  Random random(20'27);
  for (int kill = 0; kill < 50 && !HasFailure(); ++kill) {
    const std::uint64_t told = killed_writer(0, random.integer(0, 6'000));

    EXPECT_GE(checked(0, told), told);
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }
}

}  // namespace
}  // namespace rubato
