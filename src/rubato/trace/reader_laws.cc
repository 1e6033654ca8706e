#include "rubato/trace/reader_laws.h"

#include <algorithm>
#include <string>

#include "rubato/base/check.h"
#include "rubato/trace/read_text.h"
#include "rubato/trace/write/rubato_writer.h"

namespace rubato {
namespace {

// All jobs as text, so that they can be compared and read again.
std::string written(const TraceText& trace) {
  std::string text = rubato_header_line({.jobs = trace.jobs.size()});
  for (const Job& job : trace.jobs) {
    text += rubato_job_line(job);
  }
  return text;
}

void check_jobs(const TraceText& trace) {
  for (const Job& job : trace.jobs) {
    RUBATO_CHECK(job.requested >= 1 && job.batch >= 0);
    RUBATO_CHECK(job.work >= 0 && job.weight >= 0);
    RUBATO_CHECK(job.arrival >= Instant{} && job.duration >= Duration{0});
  }
}

void check_explained(const TraceText& trace) {
  const bool has_error = std::ranges::any_of(
      trace.diagnostics, [](const Diagnostic& found) { return found.severity == Severity::Error; });
  RUBATO_CHECK(trace.status.ok() != has_error);
}

}  // namespace

void check_reader_laws(std::string_view format, std::string_view text) {
  const TraceText whole = read_text(format, text);
  check_jobs(whole);
  check_explained(whole);
  for (const std::size_t chunk_bytes : {std::size_t{1}, std::size_t{7}}) {
    const TraceText pieces = read_text(format, text, chunk_bytes);
    RUBATO_CHECK(written(pieces) == written(whole));
    RUBATO_CHECK(pieces.lines == whole.lines);
    RUBATO_CHECK(pieces.diagnostics == whole.diagnostics);
  }
  const std::string once = written(whole);
  const TraceText again = read_text("rubato", once);
  RUBATO_CHECK(again.status.ok());
  RUBATO_CHECK(written(again) == once);
}

}  // namespace rubato
