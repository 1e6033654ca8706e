// The tables of the journal and the checksums of its rows; for those who write and read it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rubato/base/result.h"
#include "rubato/live/controller/controller_options.h"
#include "rubato/live/journal/sqlite.h"

namespace rubato {

inline constexpr std::int64_t kJournalFormat = 1;

/// Makes the tables if the file is empty. A file of something else is refused.
[[nodiscard]] Status make_journal_tables(SqliteDatabase& database, const std::string& path,
                                         const ControllerOptions& options);

/// The options in the file, if it is a journal that this program can read.
[[nodiscard]] Result<ControllerOptions> read_journal_options(SqliteDatabase& database,
                                                             const std::string& path);

/// What is stored beside a row: SQLite itself does not notice when a disk changes a page.
struct JournalRow {
  std::uint64_t sequence = 0;
  std::int64_t at_us = 0;
  std::string_view bytes{};
  std::string_view commands{};
};
[[nodiscard]] std::int64_t checksum_of(const JournalRow& row);

}  // namespace rubato
