// `rubato trace generate`: a made-up trace, always the same for the same seed.
#pragma once

#include <iosfwd>
#include <string>

#include "rubato/cli/trace/trace_sink.h"
#include "rubato/trace/generate/generator.h"

namespace rubato {

struct TraceGenerateCommand {
  GeneratorOptions options{};
  std::string speeds{};  // File that work is computed from; empty: the built-in sample.
  TraceTarget target = TraceTarget::Rubato;
  std::string output = "-";
};

/// Prints the seed and what was made to `error`, so that standard output can be the trace.
int run_trace_generate(const TraceGenerateCommand& command, std::ostream& error);

}  // namespace rubato
