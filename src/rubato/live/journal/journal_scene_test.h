// A folder for journals that goes away with the test, and entries to put into them.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/live/journal/journal_store.h"

namespace rubato {

/// Tests of the journal derive from it.
class JournalScene : public testing::Test {
 protected:
  void SetUp() override {
    // In memory, where that is possible: a killed process leaves the same files behind on any disk,
    // and each commit waits for the disk.
    std::string name = "/dev/shm/rubato-journal-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) {
      name = (std::filesystem::temp_directory_path() / "rubato-journal-XXXXXX").string();
      ASSERT_NE(::mkdtemp(name.data()), nullptr);
    }
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path() const { return folder_ + "/journal.sqlite"; }

  [[nodiscard]] JournalStore opened(const ControllerOptions& options = {}) const {
    auto store = JournalStore::open(path(), options);
    EXPECT_TRUE(store.ok()) << store.error().message;
    return std::move(store).value();
  }

  /// The submission of a job, with an event and a key.
  [[nodiscard]] static JournalItem submission(std::uint64_t job, std::size_t padding = 0) {
    JournalItem entry{
        .record = {.at = Instant{Duration{static_cast<std::int64_t>(job)}},
                   .commands = "admit " + std::to_string(job) + "\n"},
        .key = SubmissionKey{
            .user = "ada", .key = "key-" + std::to_string(job), .job = job, .spec_hash = "hash"}};
    auto& submitted = *entry.record.input.mutable_submitted();
    submitted.set_job(job);
    submitted.set_user("ada");
    submitted.mutable_spec()->set_name(std::string(padding, 'x'));
    auto& event = entry.events.emplace_back();
    event.set_type("job.submitted");
    event.set_job(std::to_string(job));
    return entry;
  }
  [[nodiscard]] static std::vector<JournalItem> submissions(std::uint64_t first, std::uint64_t last,
                                                            std::size_t padding = 0) {
    std::vector<JournalItem> entries;
    for (std::uint64_t job = first; job <= last; ++job) {
      entries.push_back(submission(job, padding));
    }
    return entries;
  }
  /// The jobs submitted after an input, in the order of the journal.
  [[nodiscard]] static std::vector<std::uint64_t> jobs_of(const JournalHistory& history,
                                                          std::uint64_t after = 0) {
    std::vector<std::uint64_t> jobs;
    const Status read = history.for_each_input(after, [&](const JournalRecord& record) {
      jobs.push_back(record.input.submitted().job());
      return ok_status();
    });
    EXPECT_TRUE(read.ok()) << read.error().message;
    return jobs;
  }

  std::string folder_{};
};

}  // namespace rubato
