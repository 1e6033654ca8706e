// `rubato trace convert`: any trace we read, in one of the formats we write.
#pragma once

#include <iosfwd>
#include <string>

#include "rubato/cli/trace/trace_sink.h"

namespace rubato {

struct TraceConvertCommand {
  std::string path{};
  std::string format = "auto";
  TraceTarget target = TraceTarget::Rubato;
  std::string output = "-";
  bool sorts = false;           // By arrival; holds all jobs in memory, else one at a time.
  bool starts_at_zero = false;  // Moves the first arrival to zero; needs sorting, so implies it.
};

/// Returns the exit code. If the input has an unusable row, the output file is not touched.
int run_trace_convert(const TraceConvertCommand& command, std::ostream& error);

}  // namespace rubato
