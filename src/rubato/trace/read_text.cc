#include "rubato/trace/read_text.h"

#include <algorithm>
#include <utility>

#include "rubato/base/check.h"
#include "rubato/trace/formats/formats.h"

namespace rubato {

TraceText read_text(std::string_view format, std::string_view text, std::size_t chunk_bytes) {
  RUBATO_CHECK(chunk_bytes > 0);
  TraceText result;
  ReaderSetup setup;
  setup.file = "trace";
  setup.jobs = [&](Job&& job, std::uint64_t line) {
    result.jobs.push_back(std::move(job));
    result.lines.push_back(line);
  };
  setup.diagnostics = [&](Diagnostic&& found) { result.diagnostics.push_back(std::move(found)); };
  auto reader = make_reader(format, std::move(setup));
  if (!reader) {
    result.status = reader.error();
    return result;
  }
  while (!text.empty()) {
    (*reader)->feed(text.substr(0, chunk_bytes));
    result.buffered_max = std::max(result.buffered_max, (*reader)->buffered_bytes());
    text.remove_prefix(std::min(chunk_bytes, text.size()));
  }
  result.status = (*reader)->finish();
  return result;
}

}  // namespace rubato
