// The streaming interface of all trace readers: bytes in, jobs out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "rubato/base/result.h"
#include "rubato/core/job.h"
#include "rubato/trace/text/diagnostic.h"

namespace rubato {

/// Gets each job as soon as its record is complete, with the line the record starts on.
using JobSink = std::function<void(Job&& job, std::uint64_t line)>;

/// What every reader is made from.
struct ReaderSetup {
  std::string file{};  // For messages only: a reader opens nothing.
  JobSink jobs{};
  DiagnosticSink diagnostics{};
};

/// Jobs come out in file order and are numbered 0, 1, ... in it. Memory is bounded by one record,
/// whatever the size of the trace. How the bytes are cut into chunks makes no difference.
class Reader {
 public:
  virtual ~Reader() = default;

  virtual void feed(std::string_view chunk) = 0;
  /// To be called once, after the last byte. An error if the trace has any unusable row; by then
  /// all problems have been handed to the diagnostics sink.
  virtual Status finish() = 0;

  /// Bytes held back because their record is not complete.
  [[nodiscard]] virtual std::size_t buffered_bytes() const = 0;
};

}  // namespace rubato
