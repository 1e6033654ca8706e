#include "rubato/trace/read/table_reader.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "rubato/base/parse.h"
#include "rubato/trace/text/delimited.h"

namespace rubato {
namespace {

constexpr std::size_t kUnknownColumnsMax = 20;  // More are not reported one by one.

bool is_called(const Column& column, std::string_view name) {
  return name == column.name || (!column.alias.empty() && name == column.alias);
}

// Every spelling of every column: what a misspelt header can have meant.
std::vector<std::string_view> spellings(std::span<const Column> columns) {
  std::vector<std::string_view> names;
  for (const Column& column : columns) {
    names.push_back(column.name);
    if (!column.alias.empty()) {
      names.push_back(column.alias);
    }
  }
  return names;
}

// Where a column stands in the header, or -1.
int position_in(std::span<const std::string> header, const Column& column) {
  const auto found = std::ranges::find_if(
      header, [&](const std::string& name) { return is_called(column, name); });
  return found == header.end() ? -1 : static_cast<int>(found - header.begin());
}

}  // namespace

TableReader::TableReader(ReaderSetup setup, TableLayout layout)
    : RecordReader(std::move(setup)), layout_(layout) {}

std::optional<Positions> TableReader::positions_of(std::size_t fields) const {
  if (fields != layout_.columns.size()) {
    return std::nullopt;
  }
  Positions positions(fields);
  std::iota(positions.begin(), positions.end(), 0);
  return positions;
}

void TableReader::on_bytes(std::string_view chunk) {
  lines_.feed(chunk, [this](const Line& line) { on_line(line); });
}

void TableReader::on_end() {
  lines_.finish([this](const Line& line) { on_line(line); });
  if (!has_seen_line_) {
    problems().error(0, "",
                     "found no rows, expected " +
                         std::string(layout_.has_header ? "a header line and " : "") +
                         "one row for each job");
  }
}

void TableReader::on_line(const Line& line) {
  if (problems().gave_up()) {
    return;  // Within a chunk too: where chunks end must make no difference.
  }
  if (line.is_too_long) {
    problems().error(line.number, "", fmt::format("line is longer than {} bytes", kLineBytesMax));
    return;
  }
  if (trimmed(line.text).empty()) {
    return;
  }
  if (layout_.comment != '\0' && line.text.front() == layout_.comment) {
    on_comment(line.text);
    return;
  }
  if (!split_delimited(line.text, layout_.separator, fields_)) {
    problems().error(line.number, "", "a quote is opened but never closed");
    return;
  }
  const bool is_first = !has_seen_line_;
  has_seen_line_ = true;
  if (is_first && (layout_.has_header || is_called(layout_.columns.front(), fields_.front()))) {
    on_header(line.number);
  } else if (!is_header_unusable_) {
    on_row(line.number);
  }
}

void TableReader::on_header(std::uint64_t line) {
  has_seen_header_ = true;
  fields_expected_ = fields_.size();
  const auto names = spellings(layout_.columns);
  for (const Column& column : layout_.columns) {
    positions_.push_back(position_in(fields_, column));
    if (column.is_required && positions_.back() < 0) {
      const std::vector<std::string_view> found(fields_.begin(), fields_.end());
      problems().error(line, column.name, "the header has no such column",
                       did_you_mean(column.name, found));
      is_header_unusable_ = true;
    }
  }
  std::size_t unknown = 0;
  for (const std::string& name : fields_) {
    if (std::ranges::find(names, name) == names.end() && ++unknown <= kUnknownColumnsMax) {
      problems().warning(line, shown(name), "unknown column, ignored", did_you_mean(name, names));
    }
  }
}

bool TableReader::bind_row(std::uint64_t line) {
  const auto positions = positions_of(fields_.size());
  if (!positions) {
    problems().error(
        line, "",
        fmt::format("found {} fields, expected {}", fields_.size(), layout_.columns.size()));
    return false;
  }
  positions_ = *positions;
  fields_expected_ = fields_.size();
  return true;
}

void TableReader::on_row(std::uint64_t line) {
  if (fields_.size() != fields_expected_) {
    if (!has_seen_header_) {
      if (!bind_row(line)) {
        return;
      }
    } else {
      problems().error(
          line, "",
          fmt::format("found {} fields, the header has {}", fields_.size(), fields_expected_));
      return;
    }
  }
  Job job;
  job.id = JobId{emitted()};
  Row row({.problems = problems(),
           .columns = layout_.columns,
           .positions = positions_,
           .fields = fields_,
           .line = line});
  convert(row, job);
  if (row.is_usable()) {
    emit(std::move(job), line);
  }
}

}  // namespace rubato
