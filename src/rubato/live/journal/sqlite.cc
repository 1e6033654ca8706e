#include "rubato/live/journal/sqlite.h"

#include <cstring>
#include <filesystem>
#include <sqlite3.h>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace rubato {
namespace {

// Only a program that is not ours could hold the lock; do not stop the loop for longer than this.
constexpr int kBusyMilliseconds = 2'000;

struct SqliteTrouble {
  ErrorCode code = ErrorCode::Io;
  const char* words = "";
};

// What a result code of SQLite means to the one who runs the platform.
SqliteTrouble sqlite_trouble(int code) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return {ErrorCode::Io, "the disk is full"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      return {ErrorCode::Io, "locked by another program"};
    case SQLITE_CORRUPT:
      return {ErrorCode::BadInput, "damaged"};
    case SQLITE_NOTADB:
      return {ErrorCode::BadInput, "damaged, or not an SQLite database"};
    case SQLITE_CONSTRAINT:
      return {ErrorCode::BadInput, "what must be unique is there already"};
    case SQLITE_CANTOPEN:
      return {ErrorCode::Io, "cannot be opened"};
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return {ErrorCode::Io, "may not be written"};
    case SQLITE_IOERR:
      return {ErrorCode::Io, "the disk failed"};
    default:
      return {ErrorCode::Io, "SQLite failed"};
  }
}

// The error of the last call on a connection.
Error sqlite_error(sqlite3* database, std::string_view path) {
  const int code = sqlite3_extended_errcode(database);
  const SqliteTrouble trouble = sqlite_trouble(code);
  std::string detail = sqlite3_errmsg(database);
  const int reason = sqlite3_system_errno(database);
  if (reason != 0 && (code & 0xff) == SQLITE_CANTOPEN) {
    detail += fmt::format(": {}", std::generic_category().message(reason));
  }
  return {.code = trouble.code,
          .message = fmt::format("{}: {} ({}, code {})", path, trouble.words, detail, code)};
}

Error sqlite_error(sqlite3_stmt* statement) {
  sqlite3* database = sqlite3_db_handle(statement);
  return sqlite_error(database, sqlite3_db_filename(database, "main"));
}

// SQLite takes a null pointer for NULL, whatever the size.
const char* sqlite_data(std::string_view bytes) { return bytes.empty() ? "" : bytes.data(); }

}  // namespace

void SqliteStatement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

void SqliteDatabase::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Result<bool> SqliteStatement::step() {
  switch (sqlite3_step(statement_.get())) {
    case SQLITE_ROW:
      return true;
    case SQLITE_DONE:
      return false;
    default:
      return sqlite_error(statement_.get());
  }
}

void SqliteStatement::finish() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
}

Status SqliteStatement::run_to_end() {
  for (;;) {
    const auto row = step();
    if (!row) {
      return row.error();
    }
    if (!*row) {
      return ok_status();
    }
  }
}

Status SqliteStatement::bind_one(int index, std::int64_t number) {
  if (sqlite3_bind_int64(statement_.get(), index, number) != SQLITE_OK) {
    return sqlite_error(statement_.get());
  }
  return ok_status();
}

Status SqliteStatement::bind_one(int index, std::string_view text) {
  if (sqlite3_bind_text64(statement_.get(), index, sqlite_data(text), text.size(),
                          nullptr /* borrowed */, SQLITE_UTF8) != SQLITE_OK) {
    return sqlite_error(statement_.get());
  }
  return ok_status();
}

Status SqliteStatement::bind_one(int index, SqliteBlob blob) {
  if (sqlite3_bind_blob64(statement_.get(), index, sqlite_data(blob.bytes), blob.bytes.size(),
                          nullptr /* borrowed */) != SQLITE_OK) {
    return sqlite_error(statement_.get());
  }
  return ok_status();
}

std::int64_t SqliteStatement::number(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string_view SqliteStatement::bytes(int column) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return data == nullptr ? std::string_view{} : std::string_view{data, static_cast<size_t>(size)};
}

Result<SqliteDatabase> SqliteDatabase::open(const std::string& path, Mode mode) {
  // Absolute, because SQLite gives a meaning of its own to names such as `:memory:`.
  std::error_code failure;
  const std::string file = std::filesystem::absolute(path, failure).string();
  const int flags =
      mode == Mode::Read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(file.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  SqliteDatabase database;
  database.database_.reset(handle);
  if (handle == nullptr) {
    return Error{.code = ErrorCode::Io, .message = fmt::format("{}: no memory to open it", path)};
  }
  if (code != SQLITE_OK) {
    return sqlite_error(handle, path);
  }
  sqlite3_busy_timeout(handle, kBusyMilliseconds);
  return database;
}

Status SqliteDatabase::execute(const std::string& statements) {
  sqlite3* handle = database_.get();
  if (sqlite3_exec(handle, statements.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return sqlite_error(handle, sqlite3_db_filename(handle, "main"));
  }
  return ok_status();
}

Result<SqliteStatement> SqliteDatabase::prepare(std::string_view statement) {
  sqlite3* handle = database_.get();
  sqlite3_stmt* prepared = nullptr;
  const int code = sqlite3_prepare_v3(handle, statement.data(), static_cast<int>(statement.size()),
                                      SQLITE_PREPARE_PERSISTENT, &prepared, nullptr);
  if (code != SQLITE_OK) {
    return sqlite_error(handle, sqlite3_db_filename(handle, "main"));
  }
  RUBATO_CHECK(prepared != nullptr);
  return SqliteStatement(prepared);
}

Result<std::int64_t> SqliteDatabase::number(std::string_view query) {
  auto statement = prepare(query);
  if (!statement) {
    return statement.error();
  }
  const auto row = statement->step();
  if (!row) {
    return row.error();
  }
  return *row ? statement->number(0) : std::int64_t{0};
}

Result<std::string> SqliteDatabase::text(std::string_view query) {
  auto statement = prepare(query);
  if (!statement) {
    return statement.error();
  }
  const auto row = statement->step();
  if (!row) {
    return row.error();
  }
  return *row ? std::string(statement->bytes(0)) : std::string();
}

bool SqliteDatabase::is_in_transaction() const {
  return sqlite3_get_autocommit(database_.get()) == 0;
}

Result<SqliteTransaction> SqliteTransaction::begin(SqliteDatabase& database) {
  const Status begun = database.execute("BEGIN IMMEDIATE");
  if (!begun) {
    return begun.error();
  }
  return SqliteTransaction(database);
}

SqliteTransaction::SqliteTransaction(SqliteTransaction&& other) noexcept
    : database_(std::exchange(other.database_, nullptr)) {}

SqliteTransaction::~SqliteTransaction() {
  // SQLite has undone it by itself after some errors.
  if (database_ != nullptr && database_->is_in_transaction()) {
    static_cast<void>(database_->execute("ROLLBACK"));
  }
}

Status SqliteTransaction::commit() { return database_->execute("COMMIT"); }

}  // namespace rubato
