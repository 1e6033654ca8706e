#include "rubato/live/journal/journal_store.h"

#include <chrono>
#include <csignal>
#include <fstream>
#include <iostream>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <google/protobuf/stubs/logging.h>

#include "rubato/live/journal/journal_scene_test.h"

namespace rubato {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class JournalStoreTest : public JournalScene {
 protected:
  // Something no program of ours would do to the file.
  void tamper(const std::string& statement) const {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path().c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, statement.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
  }
  [[nodiscard]] Error refusal() const {
    const auto store = JournalStore::open(path(), {});
    EXPECT_FALSE(store.ok());
    return store.ok() ? Error{} : store.error();
  }
  [[nodiscard]] static std::string replay_error(const JournalStore& store) {
    const Status read =
        store.history().for_each_input(0, [](const JournalRecord&) { return ok_status(); });
    return read.ok() ? "" : read.error().message;
  }
};

TEST_F(JournalStoreTest, GivesBackWhatWasAppendedAfterReopening) {
  auto batch = submissions(1, 2);
  batch[1].record.input.Clear();  // An input of no bytes is an input.
  batch[1].record.commands = "";
  ASSERT_TRUE(opened().append(batch).ok());

  const JournalStore store = opened();

  std::vector<JournalRecord> records;
  ASSERT_TRUE(store.history()
                  .for_each_input(0,
                                  [&](const JournalRecord& record) {
                                    records.push_back(record);
                                    return ok_status();
                                  })
                  .ok());
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].sequence, 1U);
  EXPECT_EQ(records[0].at, Instant{Duration{1}});
  EXPECT_EQ(records[0].input.SerializeAsString(), batch[0].record.input.SerializeAsString());
  EXPECT_EQ(records[0].commands, "admit 1\n");
  EXPECT_EQ(records[1].sequence, 2U);
  EXPECT_EQ(records[1].input.kind_case(), wire::JournalInput::KIND_NOT_SET);
  EXPECT_EQ(store.last_sequence(), 2U);
  EXPECT_EQ(store.last_event(), 2U);
  EXPECT_EQ(store.last_instant(), Instant{Duration{2}});
}

TEST_F(JournalStoreTest, NumbersInputsAndEventsOnTheEntries) {
  JournalStore store = opened();
  auto batch = submissions(1, 2);
  batch[0].events.push_back(batch[0].events[0]);

  ASSERT_TRUE(store.append(batch).ok());

  EXPECT_EQ(batch[0].record.sequence, 1U);
  EXPECT_EQ(batch[1].record.sequence, 2U);
  EXPECT_EQ(batch[0].events[1].sequence(), 2U);
  EXPECT_EQ(batch[1].events[0].sequence(), 3U);
}

TEST_F(JournalStoreTest, KeepsTheOptionsItWasBegunWith) {
  const ControllerOptions first{.policy = "afs-l",
                                .nodes = {{.name = "a\"b", .gpu_type = "t4", .slots = 4}},
                                .slot = Duration{7},
                                .resize_pause = Duration{8},
                                .seed = ~std::uint64_t{0}};
  { const JournalStore store = opened(first); }

  const JournalStore store = opened({.policy = "fifo"});

  EXPECT_EQ(store.options(), first);
}

TEST_F(JournalStoreTest, AppendsAllOfABatchOrNothing) {
  JournalStore store = opened();
  auto first = submissions(1, 1);
  ASSERT_TRUE(store.append(first).ok());
  auto batch = submissions(2, 4);
  batch[2].key = first[0].key;

  const Status failed = store.append(batch);

  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().message, HasSubstr("unique"));
  EXPECT_THAT(jobs_of(store.history()), ElementsAre(1));
  EXPECT_EQ(store.history().events_after(0, 10)->size(), 1U);
  EXPECT_FALSE(store.history().find_key("ada", "key-2")->has_value());

  batch[2].key.reset();
  ASSERT_TRUE(store.append(batch).ok());
  EXPECT_THAT(jobs_of(store.history()), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(batch[2].record.sequence, 4U);
  EXPECT_EQ(batch[2].events[0].sequence(), 4U);
}

TEST_F(JournalStoreTest, CanReadAgainWhatWasNoText) {
  const google::protobuf::LogSilencer silencer;
  JournalStore store = opened();
  auto batch = submissions(1, 1);
  auto& submitted = *batch[0].record.input.mutable_submitted();
  submitted.set_user(
      "a\xff"
      "b");
  (*submitted.mutable_spec()->mutable_environment())["A"] = "\xc3";
  batch[0].events[0].set_message("caf\xe9");
  batch[0].events[0].add_remedies("caf\xc3\xa9");
  batch[0].events[0].add_remedies("\xed\xa0\x80");

  ASSERT_TRUE(store.append(batch).ok());

  EXPECT_THAT(jobs_of(store.history()), ElementsAre(1));
  EXPECT_EQ(submitted.user(),
            "a\xef\xbf\xbd"
            "b");
  EXPECT_EQ(submitted.spec().environment().at("A"), "\xef\xbf\xbd");
  const auto events = store.history().events_after(0, 10);
  ASSERT_TRUE(events.ok());
  EXPECT_EQ(events->at(0).message(), "caf\xef\xbf\xbd");
  EXPECT_EQ(events->at(0).remedies(0), "caf\xc3\xa9");
}

TEST_F(JournalStoreTest, FindsTheJobOfAKeyOfOneUser) {
  JournalStore store = opened();
  auto batch = submissions(7, 7);
  ASSERT_TRUE(store.append(batch).ok());

  EXPECT_EQ(*store.history().find_key("ada", "key-7"), batch[0].key);
  EXPECT_EQ(*store.history().find_key("bob", "key-7"), std::nullopt);
  EXPECT_EQ(*store.history().find_key("ada", "key-8"), std::nullopt);
}

TEST_F(JournalStoreTest, TellsEventsInOrderUpToALimit) {
  JournalStore store = opened();
  auto batch = submissions(1, 5);
  batch[4].events[0].set_job("2");
  ASSERT_TRUE(store.append(batch).ok());
  const auto numbers = [](const Result<std::vector<wire::EventRecord>>& events) {
    std::vector<std::uint64_t> found;
    for (const auto& event : *events) {
      found.push_back(event.sequence());
    }
    return found;
  };

  EXPECT_THAT(numbers(store.history().events_after(1, 3)), ElementsAre(2, 3, 4));
  EXPECT_THAT(numbers(store.history().events_after(5, 3)), IsEmpty());
  EXPECT_THAT(numbers(store.history().events_after(~std::uint64_t{0}, 3)), IsEmpty());
  EXPECT_THAT(numbers(store.history().events_after(0, -1)), IsEmpty());
  EXPECT_THAT(numbers(store.history().events_of("2", 0, 10)), ElementsAre(2, 5));
  EXPECT_THAT(numbers(store.history().events_of("2", 2, 10)), ElementsAre(5));
}

TEST_F(JournalStoreTest, ReadsInputsAfterTheNewestCheckpointOnly) {
  JournalStore store = opened();
  for (std::uint64_t job = 1; job <= 4; ++job) {
    auto batch = submissions(job, job);
    ASSERT_TRUE(store.append(batch).ok());
    if (job < 4) {
      ASSERT_TRUE(store.add_checkpoint(std::string("state\0", 6) + std::to_string(job)).ok());
    }
  }

  const auto checkpoint = store.history().newest_checkpoint();

  ASSERT_TRUE(checkpoint.ok() && checkpoint->has_value());
  EXPECT_EQ((*checkpoint)->sequence, 3U);
  EXPECT_EQ((*checkpoint)->bytes, std::string("state\0", 6) + "3");
  EXPECT_THAT(jobs_of(store.history(), (*checkpoint)->sequence), ElementsAre(4));
  EXPECT_THAT(jobs_of(store.history()), ElementsAre(1, 2, 3, 4));
}

TEST_F(JournalStoreTest, FallsBackToTheCheckpointBeforeADamagedOne) {
  JournalStore store = opened();
  ASSERT_TRUE(store.add_checkpoint("").ok());
  auto batch = submissions(1, 1);
  ASSERT_TRUE(store.append(batch).ok());
  ASSERT_TRUE(store.add_checkpoint("newest").ok());
  tamper("UPDATE checkpoints SET bytes = x'6e6577656572' WHERE sequence = 1");

  const auto checkpoint = store.history().newest_checkpoint();

  ASSERT_TRUE(checkpoint.ok() && checkpoint->has_value());
  EXPECT_EQ((*checkpoint)->sequence, 0U);
  EXPECT_EQ((*checkpoint)->bytes, "");
}

TEST_F(JournalStoreTest, KeepsTheNewestCheckpointsOnly) {
  JournalStore store = opened();
  for (std::uint64_t job = 1; job <= 4; ++job) {
    auto batch = submissions(job, job);
    ASSERT_TRUE(store.append(batch).ok());
    ASSERT_TRUE(store.add_checkpoint("state").ok());
  }

  auto database = SqliteDatabase::open(path(), SqliteDatabase::Mode::Read);

  ASSERT_TRUE(database.ok());
  EXPECT_EQ(*database->number("SELECT count(*) FROM checkpoints"), JournalStore::kCheckpointsKept);
  EXPECT_EQ(*database->number("SELECT min(sequence) FROM checkpoints"), 3);
}

TEST_F(JournalStoreTest, StopsReadingAtTheFirstErrorOfTheVisitor) {
  JournalStore store = opened();
  auto batch = submissions(1, 3);
  ASSERT_TRUE(store.append(batch).ok());
  int visits = 0;

  const Status read = store.history().for_each_input(0, [&](const JournalRecord& record) {
    ++visits;
    return record.sequence == 2 ? Status(bad_input("two")) : ok_status();
  });

  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().message, "two");
  EXPECT_EQ(visits, 2);
}

TEST_F(JournalStoreTest, NoticesChangedAndMissingInputs) {
  JournalStore store = opened();
  auto batch = submissions(1, 3);
  ASSERT_TRUE(store.append(batch).ok());

  tamper("UPDATE inputs SET at_us = 5 WHERE sequence = 2");
  EXPECT_THAT(replay_error(store), HasSubstr("journal.sqlite: input 2 is damaged"));
  tamper("DELETE FROM inputs WHERE sequence = 2");
  EXPECT_THAT(replay_error(store), HasSubstr("input 2 is missing, 3 follows"));
}

TEST_F(JournalStoreTest, RefusesASecondOwnerAndNamesTheFirst) {
  const JournalStore store = opened();

  EXPECT_EQ(refusal().code, ErrorCode::BadConfig);
  EXPECT_THAT(refusal().message, HasSubstr("in use by process " + std::to_string(::getpid())));
}

TEST_F(JournalStoreTest, RefusesASecondOwnerOfAnotherProcessUntilThatIsKilled) {
  int ready[2] = {};
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t owner = ::fork();
  if (owner == 0) {
    const auto store = JournalStore::open(path(), {});
    [[maybe_unused]] const ssize_t told = ::write(ready[1], store.ok() ? "y" : "n", 1);
    ::pause();
    ::_exit(0);
  }
  char answer = 0;
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  ASSERT_EQ(answer, 'y');

  EXPECT_THAT(refusal().message, HasSubstr("process " + std::to_string(owner)));

  ::kill(owner, SIGKILL);
  ::waitpid(owner, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
  const JournalStore store = opened();
  EXPECT_EQ(store.last_sequence(), 0U);
}

TEST_F(JournalStoreTest, IsReadByOthersWhileItIsWritten) {
  JournalStore store = opened();
  const auto history = JournalHistory::open(path());
  ASSERT_TRUE(history.ok());
  std::jthread follower([&](const std::stop_token& stop) {
    std::uint64_t seen = 0;
    while (!stop.stop_requested() || seen < store.last_event()) {
      const auto events = store.history().events_after(seen, 7);
      ASSERT_TRUE(events.ok()) << events.error().message;
      for (const auto& event : *events) {
        ASSERT_EQ(event.sequence(), ++seen);
      }
    }
    EXPECT_EQ(seen, 60U);
  });

  for (std::uint64_t job = 1; job <= 60; job += 3) {
    auto batch = submissions(job, job + 2);
    ASSERT_TRUE(store.append(batch).ok());
    ASSERT_EQ(jobs_of(*history).size(), job + 2);
  }
  follower.request_stop();
}

TEST_F(JournalStoreTest, IsForItsOwnerOnly) {
  const JournalStore store = opened();

  for (const auto& file : fs::directory_iterator(folder_)) {
    struct stat status {};
    ASSERT_EQ(::stat(file.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U) << file.path();
  }
}

TEST_F(JournalStoreTest, SaysWhatIsWrongWithAFileThatIsNoJournal) {
  std::ofstream(path()) << std::string(5'000, 'x');
  EXPECT_THAT(refusal().message, HasSubstr("journal.sqlite: damaged, or not an SQLite database"));
  EXPECT_EQ(refusal().code, ErrorCode::BadInput);

  fs::remove(path());
  tamper("CREATE TABLE mine(x)");
  EXPECT_THAT(refusal().message, HasSubstr("a database, but not a journal of rubato"));
}

TEST_F(JournalStoreTest, RefusesAJournalOfAnotherFormat) {
  { const JournalStore store = opened(); }
  tamper("UPDATE meta SET value = '2' WHERE name = 'format'");

  EXPECT_THAT(refusal().message, HasSubstr("a journal of format 2, this program reads 1"));

  tamper("UPDATE meta SET value = '1' WHERE name = 'format'");
  tamper("UPDATE meta SET value = '{}' WHERE name = 'options'");
  EXPECT_THAT(refusal().message, HasSubstr("options are damaged"));
}

TEST_F(JournalStoreTest, SaysThatATruncatedFileIsDamaged) {
  {
    JournalStore store = opened();
    auto batch = submissions(1, 500);
    ASSERT_TRUE(store.append(batch).ok());
  }
  fs::resize_file(path(), fs::file_size(path()) / 2);

  const auto store = JournalStore::open(path(), {});

  const std::string message = store.ok() ? replay_error(*store) : store.error().message;
  EXPECT_THAT(message, HasSubstr("journal.sqlite: damaged"));
}

TEST_F(JournalStoreTest, SaysThatTheFolderIsMissing) {
  const auto store = JournalStore::open(folder_ + "/none/journal.sqlite", {});

  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().code, ErrorCode::Io);
  EXPECT_THAT(store.error().message, HasSubstr("No such file or directory"));
}

TEST_F(JournalStoreTest, LoadsACheckpointWithoutReadingTenThousandInputs) {
  {
    JournalStore store = opened();
    auto batch = submissions(1, 10'000, 500);
    ASSERT_TRUE(store.append(batch).ok());
    ASSERT_TRUE(store.add_checkpoint(std::string(5'000'000, 's')).ok());
    auto after = submissions(10'001, 10'010);
    ASSERT_TRUE(store.append(after).ok());
  }
  // Whoever reads one of them fails.
  tamper("UPDATE inputs SET checksum = checksum + 1 WHERE sequence <= 10000");

  const auto begun = std::chrono::steady_clock::now();
  const JournalStore store = opened();
  const auto checkpoint = store.history().newest_checkpoint();
  const auto jobs = jobs_of(store.history(), 10'000);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begun;

  ASSERT_TRUE(checkpoint.ok() && checkpoint->has_value());
  EXPECT_EQ((*checkpoint)->bytes.size(), 5'000'000U);
  EXPECT_EQ(jobs.size(), 10U);
  std::cout << "journal of 10,000 inputs and a checkpoint of 5 MB loaded in " << seconds.count()
            << " s\n";
}

}  // namespace
}  // namespace rubato
