#include "rubato/trace/read/json_reader.h"

#include <utility>

#include <fmt/format.h>

namespace rubato {

JsonReader::JsonReader(ReaderSetup setup, std::string key)
    : RecordReader(std::move(setup)), records_(std::move(key)) {}

void JsonReader::on_bytes(std::string_view chunk) {
  records_.feed(chunk, [this](const JsonRecord& record) {
    if (record.is_too_long) {
      problems().error(record.line, "",
                       fmt::format("the record is longer than {} bytes", kRecordBytesMax));
    } else if (!problems().gave_up()) {
      on_record(record.text, record.line);
    }
  });
  if (!problems().gave_up()) {
    report_problem(/*at_end=*/false);
  }
}

void JsonReader::on_end() { report_problem(/*at_end=*/true); }

void JsonReader::report_problem(bool at_end) {
  const std::string problem = is_reported_ ? std::string{} : records_.problem(at_end);
  if (!problem.empty()) {
    is_reported_ = true;
    problems().error(records_.line(), "", problem);
  }
}

}  // namespace rubato
