#include "rubato/cli/trace/trace_sink.h"

#include "rubato/trace/write/elasticflow_writer.h"

namespace rubato {

std::string header_text(TraceTarget target, const RubatoTraceHeader& header) {
  return target == TraceTarget::Rubato ? rubato_header_line(header) : elasticflow_header_line();
}

std::string job_text(TraceTarget target, const Job& job) {
  return target == TraceTarget::Rubato ? rubato_job_line(job) : elasticflow_job_line(job);
}

}  // namespace rubato
