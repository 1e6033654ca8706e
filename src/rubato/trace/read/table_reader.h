// Readers of line-by-line tables: a format gives its columns and turns one row into one job.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/trace/read/record_reader.h"
#include "rubato/trace/read/row.h"
#include "rubato/trace/text/line_splitter.h"

namespace rubato {

struct TableLayout {
  std::span<const Column> columns{};
  char separator = ',';    // ' ' stands for any run of blanks.
  char comment = '\0';     // Lines that start with it are not rows.
  bool has_header = true;  // Without one, columns stand in the order given here.
};

/// Blank lines are ignored. A format without a header may still have one: its first column's name.
class TableReader : public RecordReader {
 public:
  TableReader(ReaderSetup setup, TableLayout layout);

  [[nodiscard]] std::size_t buffered_bytes() const final { return lines_.buffered_bytes(); }

 protected:
  /// Fills in the job; it is used if the row is still usable afterwards.
  virtual void convert(Row& row, Job& job) = 0;
  virtual void on_comment(std::string_view /*text*/) {}
  /// For formats without a header: where the columns of a row of `fields` fields stand; nothing
  /// if such a row cannot be.
  [[nodiscard]] virtual std::optional<Positions> positions_of(std::size_t fields) const;

 private:
  void on_bytes(std::string_view chunk) final;
  void on_end() final;
  void on_line(const Line& line);
  void on_header(std::uint64_t line);
  void on_row(std::uint64_t line);
  // Finds the positions of a row without a header; false if it has a wrong number of fields.
  bool bind_row(std::uint64_t line);

  TableLayout layout_;
  LineSplitter lines_;
  std::vector<std::string> fields_;
  Positions positions_;
  std::size_t fields_expected_ = 0;  // What `positions_` is for; zero until it is known.
  bool has_seen_line_ = false;
  bool has_seen_header_ = false;
  bool is_header_unusable_ = false;  // Then its rows would only repeat the same problem.
};

}  // namespace rubato
