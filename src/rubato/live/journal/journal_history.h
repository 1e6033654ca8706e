// Reads the journal: for the restart, for those who follow events, and for tools that look at the
// past while the controller runs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/live/controller/controller_options.h"
#include "rubato/live/journal/journal_item.h"
#include "rubato/live/journal/sqlite.h"

namespace rubato {

/// What was committed; each call may come from any thread, beside the one that writes.
class JournalHistory {
 public:
  static constexpr int kEventsMax = 10'000;  // Of one call.

  /// Of a file that a JournalStore has made.
  [[nodiscard]] static Result<JournalHistory> open(const std::string& path);

  [[nodiscard]] const ControllerOptions& options() const { return options_; }

  /// Of the checkpoints whose checksum holds.
  [[nodiscard]] Result<std::optional<JournalCheckpoint>> newest_checkpoint() const;

  /// Inputs after `sequence` in order, one at a time; an error of `visit` ends it and is returned,
  /// as is a gap or a row that is not as it was written. Keeps nobody else waiting, but the file
  /// beside the journal grows with what is appended meanwhile.
  [[nodiscard]] Status for_each_input(
      std::uint64_t after, const std::function<Status(const JournalRecord&)>& visit) const;

  /// Events after `sequence`, the oldest first, at most `limit`.
  [[nodiscard]] Result<std::vector<wire::EventRecord>> events_after(std::uint64_t sequence,
                                                                    int limit) const;
  /// The same of one job.
  [[nodiscard]] Result<std::vector<wire::EventRecord>> events_of(const std::string& job,
                                                                 std::uint64_t after,
                                                                 int limit) const;

  [[nodiscard]] Result<std::optional<SubmissionKey>> find_key(const std::string& user,
                                                              const std::string& key) const;

 private:
  struct Connection {
    std::mutex mutex{};
    SqliteDatabase database{};
    SqliteStatement checkpoints{};
    SqliteStatement events{};
    SqliteStatement job_events{};
    SqliteStatement keys{};
  };

  JournalHistory(std::string path, ControllerOptions options, SqliteDatabase database);
  [[nodiscard]] Status prepare();

  std::string path_;
  ControllerOptions options_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace rubato
