// Readers of formats that are one long JSON array: a format turns one object's text into one job.
#pragma once

#include <string>
#include <string_view>

#include "rubato/trace/read/record_reader.h"
#include "rubato/trace/text/json_splitter.h"

namespace rubato {

class JsonReader : public RecordReader {
 public:
  /// `key` as for JsonSplitter.
  JsonReader(ReaderSetup setup, std::string key);

  [[nodiscard]] std::size_t buffered_bytes() const final { return records_.buffered_bytes(); }

 protected:
  /// Parses one object and emits its job, or reports why not.
  virtual void on_record(std::string_view text, std::uint64_t line) = 0;

 private:
  void on_bytes(std::string_view chunk) final;
  void on_end() final;
  void report_problem(bool at_end);

  JsonSplitter records_;
  bool is_reported_ = false;
};

}  // namespace rubato
