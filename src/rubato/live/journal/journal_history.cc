#include "rubato/live/journal/journal_history.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "rubato/live/journal/journal_schema.h"

namespace rubato {
namespace {

/// Lets go of a statement's row and snapshot on every way out.
class StatementUse {
 public:
  explicit StatementUse(SqliteStatement& statement) : statement_(statement) {}
  StatementUse(const StatementUse&) = delete;
  StatementUse& operator=(const StatementUse&) = delete;
  ~StatementUse() { statement_.finish(); }

 private:
  SqliteStatement& statement_;
};

Error damaged_row(const std::string& path, const char* kind, std::int64_t sequence) {
  return bad_input(fmt::format("{}: {} {} is damaged", path, kind, sequence));
}

// The input of the current row, if it is the one that must come next and is as it was written.
Status read_input(const SqliteStatement& row, const std::string& path, JournalRecord& record) {
  const std::uint64_t expected = record.sequence + 1;
  record.sequence = static_cast<std::uint64_t>(row.number(0));
  if (record.sequence != expected) {
    return bad_input(
        fmt::format("{}: input {} is missing, {} follows", path, expected, record.sequence));
  }
  const std::string_view bytes = row.bytes(2);
  const std::string_view commands = row.bytes(3);
  const std::int64_t sum = checksum_of(
      {.sequence = record.sequence, .at_us = row.number(1), .bytes = bytes, .commands = commands});
  if (sum != row.number(4) ||
      !record.input.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return damaged_row(path, "input", row.number(0));
  }
  record.at = Instant{Duration{row.number(1)}};
  record.commands = commands;
  return ok_status();
}

// The events of all rows: sequence, then bytes.
Result<std::vector<wire::EventRecord>> read_events(SqliteStatement& rows, const std::string& path) {
  const StatementUse use(rows);
  std::vector<wire::EventRecord> events;
  for (;;) {
    const auto row = rows.step();
    if (!row) {
      return row.error();
    }
    if (!*row) {
      return events;
    }
    const std::string_view bytes = rows.bytes(1);
    if (!events.emplace_back().ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      return damaged_row(path, "event", rows.number(0));
    }
  }
}

// SQLite's numbers are signed; no sequence gets that far.
std::int64_t as_stored(std::uint64_t sequence) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return static_cast<std::int64_t>(std::min(sequence, kMost));
}

std::int64_t bounded(int limit) { return std::clamp(limit, 0, JournalHistory::kEventsMax); }

}  // namespace

JournalHistory::JournalHistory(std::string path, ControllerOptions options, SqliteDatabase database)
    : path_(std::move(path)),
      options_(std::move(options)),
      connection_(std::make_unique<Connection>()) {
  connection_->database = std::move(database);
}

Status JournalHistory::prepare() {
  const std::initializer_list<std::pair<SqliteStatement*, const char*>> wanted = {
      {&connection_->checkpoints,
       "SELECT sequence, bytes, checksum FROM checkpoints ORDER BY sequence DESC"},
      {&connection_->events,
       "SELECT sequence, bytes FROM events WHERE sequence > ? ORDER BY sequence LIMIT ?"},
      {&connection_->job_events,
       "SELECT sequence, bytes FROM events WHERE job = ? AND job <> '' AND sequence > ? "
       "ORDER BY sequence LIMIT ?"},
      {&connection_->keys, "SELECT job, spec_hash FROM keys WHERE user = ? AND key = ?"}};
  for (const auto& [statement, text] : wanted) {
    auto prepared = connection_->database.prepare(text);
    if (!prepared) {
      return prepared.error();
    }
    *statement = std::move(prepared).value();
  }
  return ok_status();
}

Result<JournalHistory> JournalHistory::open(const std::string& path) {
  auto database = SqliteDatabase::open(path, SqliteDatabase::Mode::Read);
  if (!database) {
    return database.error();
  }
  auto options = read_journal_options(*database, path);
  if (!options) {
    return options.error();
  }
  JournalHistory history(path, std::move(options).value(), std::move(database).value());
  const Status prepared = history.prepare();
  if (!prepared) {
    return prepared.error();
  }
  return history;
}

Result<std::optional<JournalCheckpoint>> JournalHistory::newest_checkpoint() const {
  const std::lock_guard lock(connection_->mutex);
  SqliteStatement& rows = connection_->checkpoints;
  const StatementUse use(rows);
  for (;;) {
    const auto row = rows.step();
    if (!row) {
      return row.error();
    }
    if (!*row) {
      return std::optional<JournalCheckpoint>{};
    }
    const auto sequence = static_cast<std::uint64_t>(rows.number(0));
    const std::string_view bytes = rows.bytes(1);
    // The one before leads to the same state, only later: all inputs are kept.
    if (checksum_of({.sequence = sequence, .bytes = bytes}) == rows.number(2)) {
      return std::optional(JournalCheckpoint{.sequence = sequence, .bytes = std::string(bytes)});
    }
  }
}

Status JournalHistory::for_each_input(
    std::uint64_t after, const std::function<Status(const JournalRecord&)>& visit) const {
  auto database = SqliteDatabase::open(path_, SqliteDatabase::Mode::Read);
  if (!database) {
    return database.error();
  }
  auto rows = database->prepare(
      "SELECT sequence, at_us, input, commands, checksum FROM inputs WHERE sequence > ? "
      "ORDER BY sequence");
  if (!rows) {
    return rows.error();
  }
  Status status = rows->bind(as_stored(after));
  JournalRecord record{.sequence = after};
  while (status.ok()) {
    const auto row = rows->step();
    if (!row) {
      return row.error();
    }
    if (!*row) {
      break;
    }
    status = read_input(*rows, path_, record);
    if (status.ok()) {
      status = visit(record);
    }
  }
  return status;
}

Result<std::vector<wire::EventRecord>> JournalHistory::events_after(std::uint64_t sequence,
                                                                    int limit) const {
  const std::lock_guard lock(connection_->mutex);
  const Status bound = connection_->events.bind(as_stored(sequence), bounded(limit));
  if (!bound) {
    return bound.error();
  }
  return read_events(connection_->events, path_);
}

Result<std::vector<wire::EventRecord>> JournalHistory::events_of(const std::string& job,
                                                                 std::uint64_t after,
                                                                 int limit) const {
  const std::lock_guard lock(connection_->mutex);
  const Status bound =
      connection_->job_events.bind(std::string_view(job), as_stored(after), bounded(limit));
  if (!bound) {
    return bound.error();
  }
  return read_events(connection_->job_events, path_);
}

Result<std::optional<SubmissionKey>> JournalHistory::find_key(const std::string& user,
                                                              const std::string& key) const {
  const std::lock_guard lock(connection_->mutex);
  SqliteStatement& rows = connection_->keys;
  const StatementUse use(rows);
  const Status bound = rows.bind(std::string_view(user), std::string_view(key));
  if (!bound) {
    return bound.error();
  }
  const auto row = rows.step();
  if (!row) {
    return row.error();
  }
  if (!*row) {
    return std::optional<SubmissionKey>{};
  }
  return std::optional(SubmissionKey{.user = user,
                                     .key = key,
                                     .job = static_cast<std::uint64_t>(rows.number(0)),
                                     .spec_hash = std::string(rows.bytes(1))});
}

}  // namespace rubato
