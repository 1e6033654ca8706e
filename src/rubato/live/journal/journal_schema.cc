#include "rubato/live/journal/journal_schema.h"

#include <array>

#include <fmt/format.h>

#include "rubato/live/journal/options_json.h"
#include "rubato/wire/crc32c.h"

namespace rubato {
namespace {

constexpr std::int64_t kJournalApplication = 0x52754a6f;  // "RuJo", in the head of the file.

constexpr const char* kJournalTables = R"(
CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE inputs(
  sequence INTEGER PRIMARY KEY,
  at_us INTEGER NOT NULL,
  input BLOB NOT NULL,
  commands TEXT NOT NULL,
  checksum INTEGER NOT NULL) STRICT;
CREATE TABLE checkpoints(
  sequence INTEGER PRIMARY KEY,
  bytes BLOB NOT NULL,
  checksum INTEGER NOT NULL) STRICT;
CREATE TABLE events(
  sequence INTEGER PRIMARY KEY,
  input INTEGER NOT NULL,
  at_us INTEGER NOT NULL,
  type TEXT NOT NULL,
  job TEXT NOT NULL,
  bytes BLOB NOT NULL) STRICT;
CREATE INDEX events_by_job ON events(job, sequence) WHERE job <> '';
CREATE TABLE keys(
  user TEXT NOT NULL,
  key TEXT NOT NULL,
  job INTEGER NOT NULL,
  spec_hash TEXT NOT NULL,
  PRIMARY KEY(user, key)) STRICT, WITHOUT ROWID;
)";

std::uint32_t crc_of(std::string_view text, std::uint32_t before) {
  return crc32c(std::as_bytes(std::span(text)), before);
}

Error not_a_journal(const std::string& path) {
  return bad_input(fmt::format("{}: a database, but not a journal of rubato", path));
}

}  // namespace

Status make_journal_tables(SqliteDatabase& database, const std::string& path,
                           const ControllerOptions& options) {
  const auto tables = database.number("SELECT count(*) FROM sqlite_schema");
  if (!tables) {
    return tables.error();
  }
  if (*tables > 0) {
    return ok_status();
  }
  auto transaction = SqliteTransaction::begin(database);
  if (!transaction) {
    return transaction.error();
  }
  Status made = database.execute(
      fmt::format("{}PRAGMA application_id={};", kJournalTables, kJournalApplication));
  if (!made) {
    return made;
  }
  auto insert = database.prepare("INSERT INTO meta VALUES(?, ?), (?, ?)");
  if (!insert) {
    return insert.error();
  }
  const std::string json = options_to_json(options);
  // What is read again after a restart must be what runs now.
  const auto again = options_from_json(json);
  if (!again.ok() || *again != options) {
    return bad_input(fmt::format("{}: the options cannot be kept: {}", path, json));
  }
  const std::string format = std::to_string(kJournalFormat);
  const Status inserted = insert->run(std::string_view("format"), std::string_view(format),
                                      std::string_view("options"), std::string_view(json));
  return inserted.ok() ? transaction->commit() : inserted;
}

Result<ControllerOptions> read_journal_options(SqliteDatabase& database, const std::string& path) {
  const auto application = database.number("PRAGMA application_id");
  if (!application) {
    return application.error();
  }
  if (*application != kJournalApplication) {
    return not_a_journal(path);
  }
  const auto format = database.text("SELECT value FROM meta WHERE name = 'format'");
  if (!format) {
    return format.error();
  }
  if (*format != std::to_string(kJournalFormat)) {
    return bad_input(fmt::format("{}: a journal of format {}, this program reads {}", path, *format,
                                 kJournalFormat));
  }
  const auto json = database.text("SELECT value FROM meta WHERE name = 'options'");
  if (!json) {
    return json.error();
  }
  auto options = options_from_json(*json);
  if (!options) {
    return bad_input(fmt::format("{}: {}", path, options.error().message));
  }
  return options;
}

std::int64_t checksum_of(const JournalRow& row) {
  const std::array<std::int64_t, 3> head = {static_cast<std::int64_t>(row.sequence), row.at_us,
                                            static_cast<std::int64_t>(row.bytes.size())};
  std::uint32_t sum = crc32c(std::as_bytes(std::span(head)));
  sum = crc_of(row.bytes, sum);
  return crc_of(row.commands, sum);
}

}  // namespace rubato
