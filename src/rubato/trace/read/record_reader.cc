#include "rubato/trace/read/record_reader.h"

#include <cmath>
#include <utility>

namespace rubato {

Duration exact_seconds(double seconds) {
  // The whole part apart, so that only the fraction is rounded.
  const double whole = std::floor(seconds);
  return from_seconds(whole) + from_seconds(seconds - whole);
}

RecordReader::RecordReader(ReaderSetup setup)
    : jobs_(std::move(setup.jobs)),
      problems_(std::move(setup.file), std::move(setup.diagnostics)) {}

void RecordReader::feed(std::string_view chunk) {
  if (!problems_.gave_up()) {
    on_bytes(chunk);
  }
}

Status RecordReader::finish() {
  if (!problems_.gave_up()) {
    on_end();
  }
  return problems_.finish();
}

void RecordReader::emit(Job&& job, std::uint64_t line) {
  ++emitted_;
  jobs_(std::move(job), line);
}

}  // namespace rubato
