// SQLite behind values: a connection, its statements and transactions that clean up after
// themselves, and errors that name the file and what to do about it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "rubato/base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace rubato {

/// What is bound to a parameter as a blob; plain text would be bound as text.
struct SqliteBlob {
  std::string_view bytes{};
};

/// One prepared statement; must not outlive its connection.
class SqliteStatement {
 public:
  SqliteStatement() = default;

  /// Binds the arguments from the first parameter on. Text and blobs are borrowed until the next
  /// call of bind() or finish().
  template <typename... Arguments>
  [[nodiscard]] Status bind(const Arguments&... arguments) {
    finish();
    int index = 0;
    Status status = ok_status();
    static_cast<void>((... && (status = bind_one(++index, arguments)).ok()));
    return status;
  }
  /// Whether there is a row; must be followed by finish() unless it says no or fails.
  [[nodiscard]] Result<bool> step();
  /// Lets go of the row, of what was bound and of the database's snapshot.
  void finish();

  /// bind() and all steps of a statement without rows.
  template <typename... Arguments>
  [[nodiscard]] Status run(const Arguments&... arguments) {
    Status status = bind(arguments...);
    if (status.ok()) {
      status = run_to_end();
    }
    finish();
    return status;
  }

  [[nodiscard]] std::int64_t number(int column) const;
  /// Text or blob; valid until the next step() or finish().
  [[nodiscard]] std::string_view bytes(int column) const;

 private:
  friend class SqliteDatabase;

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };

  explicit SqliteStatement(sqlite3_stmt* statement) : statement_(statement) {}
  [[nodiscard]] Status bind_one(int index, std::int64_t number);
  [[nodiscard]] Status bind_one(int index, std::string_view text);
  [[nodiscard]] Status bind_one(int index, SqliteBlob blob);
  [[nodiscard]] Status run_to_end();

  std::unique_ptr<sqlite3_stmt, Finalize> statement_{};
};

/// One connection; for one thread at a time.
class SqliteDatabase {
 public:
  enum class Mode { Read, Write };  // Write makes the file if it is missing.

  [[nodiscard]] static Result<SqliteDatabase> open(const std::string& path, Mode mode);

  /// Statements without arguments whose rows do not matter.
  [[nodiscard]] Status execute(const std::string& statements);
  [[nodiscard]] Result<SqliteStatement> prepare(std::string_view statement);
  /// The first column of the only row, zero if there is none.
  [[nodiscard]] Result<std::int64_t> number(std::string_view query);
  [[nodiscard]] Result<std::string> text(std::string_view query);
  [[nodiscard]] bool is_in_transaction() const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };

  std::unique_ptr<sqlite3, Close> database_{};
};

/// All or nothing: what was not committed when it goes out of scope is undone.
class SqliteTransaction {
 public:
  [[nodiscard]] static Result<SqliteTransaction> begin(SqliteDatabase& database);
  SqliteTransaction(SqliteTransaction&& other) noexcept;
  SqliteTransaction& operator=(SqliteTransaction&&) = delete;
  SqliteTransaction(const SqliteTransaction&) = delete;
  SqliteTransaction& operator=(const SqliteTransaction&) = delete;
  ~SqliteTransaction();

  [[nodiscard]] Status commit();

 private:
  explicit SqliteTransaction(SqliteDatabase& database) : database_(&database) {}

  SqliteDatabase* database_;  // Null: handed on or over.
};

}  // namespace rubato
