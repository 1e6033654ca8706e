#include "rubato/live/journal/journal_store.h"

#include <cerrno>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "rubato/live/journal/journal_schema.h"
#include "rubato/live/journal/repair_text.h"

namespace rubato {
namespace {

// The file beside the journal is cut to this after a large checkpoint.
constexpr std::int64_t kWalBytesKept = 16 << 20;

// Makes an empty file, which SQLite takes for an empty database: jobs' settings are nobody else's
// business, and SQLite would let everybody read them.
Status make_private_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) {
    return Error{.code = ErrorCode::Io,
                 .message = fmt::format("{}: cannot be opened: {}", path,
                                        std::generic_category().message(errno))};
  }
  ::close(file);
  return ok_status();
}

// Durable commits, and readers that do not stop the writer.
Status set_durable(SqliteDatabase& database, const std::string& path) {
  const auto mode = database.text("PRAGMA journal_mode=WAL");
  if (!mode) {
    return mode.error();
  }
  if (*mode != "wal") {
    return Error{.code = ErrorCode::BadConfig,
                 .message = fmt::format("{}: this file system cannot keep a journal (mode {}); "
                                        "use a local disk",
                                        path, *mode)};
  }
  return database.execute(
      fmt::format("PRAGMA synchronous=FULL; PRAGMA trusted_schema=OFF;"
                  "PRAGMA cell_size_check=ON; PRAGMA journal_size_limit={}",
                  kWalBytesKept));
}

// The bytes of a message that can be read again; the message is changed if it could not.
template <typename Message>
std::string readable_bytes(Message& message) {
  std::string bytes;
  RUBATO_CHECK(message.SerializeToString(&bytes));
  if (!Message().ParseFromString(bytes)) {
    repair_text(message);
    RUBATO_CHECK(message.SerializeToString(&bytes));
  }
  return bytes;
}

std::int64_t micros_of(Instant moment) { return moment.time_since_epoch().count(); }

}  // namespace

Result<JournalStore::Writer> JournalStore::open_writer(const std::string& path,
                                                       const ControllerOptions& options) {
  auto database = SqliteDatabase::open(path, SqliteDatabase::Mode::Write);
  if (!database) {
    return database.error();
  }
  Writer writer{.database = std::move(database).value()};
  Status status = set_durable(writer.database, path);
  if (status.ok()) {
    status = make_journal_tables(writer.database, path, options);
  }
  if (!status) {
    return status.error();
  }
  const auto readable = read_journal_options(writer.database, path);
  if (!readable) {
    return readable.error();
  }
  const std::initializer_list<std::pair<SqliteStatement*, const char*>> wanted = {
      {&writer.input, "INSERT INTO inputs VALUES(?, ?, ?, ?, ?)"},
      {&writer.event, "INSERT INTO events VALUES(?, ?, ?, ?, ?, ?)"},
      {&writer.key, "INSERT INTO keys VALUES(?, ?, ?, ?)"},
      {&writer.checkpoint, "INSERT OR REPLACE INTO checkpoints VALUES(?, ?, ?)"},
      {&writer.prune,
       "DELETE FROM checkpoints WHERE sequence NOT IN "
       "(SELECT sequence FROM checkpoints ORDER BY sequence DESC LIMIT ?)"}};
  for (const auto& [statement, text] : wanted) {
    auto prepared = writer.database.prepare(text);
    if (!prepared) {
      return prepared.error();
    }
    *statement = std::move(prepared).value();
  }
  return writer;
}

Status JournalStore::find_last() {
  auto row = writer_.database.prepare("SELECT sequence, at_us FROM inputs ORDER BY 1 DESC LIMIT 1");
  if (!row) {
    return row.error();
  }
  const auto found = row->step();
  if (!found) {
    return found.error();
  }
  if (*found) {
    last_sequence_ = static_cast<std::uint64_t>(row->number(0));
    last_instant_ = Instant{Duration{row->number(1)}};
  }
  const auto event = writer_.database.number("SELECT max(sequence) FROM events");
  if (!event) {
    return event.error();
  }
  last_event_ = static_cast<std::uint64_t>(*event);
  return ok_status();
}

Result<JournalStore> JournalStore::open(const std::string& path, const ControllerOptions& options) {
  auto lock = OwnerLock::take(path);
  if (!lock) {
    return lock.error();
  }
  const Status made = make_private_file(path);
  if (!made) {
    return made.error();
  }
  auto writer = open_writer(path, options);
  if (!writer) {
    return writer.error();
  }
  auto history = JournalHistory::open(path);
  if (!history) {
    return history.error();
  }
  JournalStore store(std::move(lock).value(), std::move(writer).value(),
                     std::move(history).value());
  const Status found = store.find_last();
  if (!found) {
    return found.error();
  }
  return store;
}

Status JournalStore::insert(JournalItem& entry, std::uint64_t& last_event) {
  JournalRecord& record = entry.record;
  const auto sequence = static_cast<std::int64_t>(record.sequence);
  const std::int64_t at_us = micros_of(record.at);
  const std::string bytes = readable_bytes(record.input);
  const std::int64_t sum = checksum_of(
      {.sequence = record.sequence, .at_us = at_us, .bytes = bytes, .commands = record.commands});
  Status status =
      writer_.input.run(sequence, at_us, SqliteBlob{bytes}, std::string_view(record.commands), sum);
  for (auto event = entry.events.begin(); status.ok() && event != entry.events.end(); ++event) {
    event->set_sequence(++last_event);
    const std::string event_bytes = readable_bytes(*event);
    status = writer_.event.run(static_cast<std::int64_t>(last_event), sequence, at_us,
                               std::string_view(event->type()), std::string_view(event->job()),
                               SqliteBlob{event_bytes});
  }
  if (status.ok() && entry.key) {
    status = writer_.key.run(std::string_view(entry.key->user), std::string_view(entry.key->key),
                             static_cast<std::int64_t>(entry.key->job),
                             std::string_view(entry.key->spec_hash));
  }
  return status;
}

Status JournalStore::append(std::span<JournalItem> batch) {
  if (batch.empty()) {
    return ok_status();
  }
  auto transaction = SqliteTransaction::begin(writer_.database);
  if (!transaction) {
    return transaction.error();
  }
  std::uint64_t sequence = last_sequence_;
  std::uint64_t event = last_event_;
  Instant at = last_instant_;
  for (JournalItem& entry : batch) {
    RUBATO_CHECK(entry.record.at >= at);
    at = entry.record.at;
    entry.record.sequence = ++sequence;
    if (Status inserted = insert(entry, event); !inserted) {
      return inserted;
    }
  }
  Status committed = transaction->commit();
  if (committed.ok()) {
    last_sequence_ = sequence;
    last_event_ = event;
    last_instant_ = at;
  }
  return committed;
}

Status JournalStore::add_checkpoint(std::string_view bytes) {
  auto transaction = SqliteTransaction::begin(writer_.database);
  if (!transaction) {
    return transaction.error();
  }
  Status status =
      writer_.checkpoint.run(static_cast<std::int64_t>(last_sequence_), SqliteBlob{bytes},
                             checksum_of({.sequence = last_sequence_, .bytes = bytes}));
  if (status.ok()) {
    status = writer_.prune.run(std::int64_t{kCheckpointsKept});
  }
  return status.ok() ? transaction->commit() : status;
}

}  // namespace rubato
