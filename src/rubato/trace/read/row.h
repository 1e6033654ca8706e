// One row of a table with named columns: typed access that explains what is wrong.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/base/time.h"
#include "rubato/trace/text/problems.h"

namespace rubato {

/// A column of a trace format, with the other spelling some files use.
struct Column {
  std::string_view name{};
  std::string_view alias{};
  bool is_required = true;
};

/// Where each column stands in a row; -1: the file does not have it.
using Positions = std::vector<int>;

/// What a row is made from; borrowed for one call.
struct RowSource {
  Problems& problems;
  std::span<const Column> columns{};
  const Positions& positions;
  std::span<const std::string> fields{};
  std::uint64_t line = 0;
};

/// Lives for one call. A getter that finds nonsense reports it, makes the row unusable and returns
/// zero, so that a reader can take all fields first and all problems of a row are seen at once.
class Row {
 public:
  explicit Row(RowSource source) : source_(source) {}

  /// The column exists and is not empty in this row.
  [[nodiscard]] bool has(std::size_t column) const { return !text(column).empty(); }
  [[nodiscard]] std::string_view text(std::size_t column) const;

  double number(std::size_t column, double min, double max);
  std::int64_t integer(std::size_t column, std::int64_t min, std::int64_t max);
  /// From 0 to kSecondsMax.
  Duration seconds(std::size_t column);
  Instant moment(std::size_t column) { return Instant{seconds(column)}; }
  Instant date(std::size_t column);
  int gpus(std::size_t column);

  /// The row cannot be used.
  void reject(std::size_t column, std::string message, std::string suggestion = {});
  /// The row is sound but is not a job for us; reasons are counted, see Problems::skip.
  void skip(std::size_t column, const std::string& reason);

  [[nodiscard]] bool is_usable() const { return is_usable_; }
  [[nodiscard]] std::uint64_t line() const { return source_.line; }

 private:
  // Reports what stands in the column against what should.
  void expected(std::size_t column, const std::string& what, std::string suggestion = {});

  RowSource source_;
  bool is_usable_ = true;
};

}  // namespace rubato
