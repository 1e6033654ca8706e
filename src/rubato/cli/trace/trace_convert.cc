#include "rubato/cli/trace/trace_convert.h"

#include <ostream>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rubato/cli/process/exit_code.h"
#include "rubato/cli/process/trace_output.h"
#include "rubato/cli/trace/trace_file.h"
#include "rubato/trace/read/finish_trace.h"
#include "rubato/trace/write/elasticflow_writer.h"

namespace rubato {
namespace {

/// Writes jobs and counts what the format could not hold.
struct Writer {
  OutputFile& output;
  TraceTarget target = TraceTarget::Rubato;
  std::uint64_t jobs = 0;
  std::uint64_t cut = 0;

  void write(const Job& job) {
    output.write(job_text(target, job));
    ++jobs;
    cut += target == TraceTarget::ElasticFlow && !fits_elasticflow(job) ? 1U : 0U;
  }
};

Status convert_sorted(const TraceConvertCommand& command, Writer& writer,
                      std::vector<Diagnostic>& diagnostics) {
  auto jobs = load_trace(command.path, command.format, diagnostics);
  if (!jobs) {
    return jobs.error();
  }
  finish_trace(*jobs, {.starts_at_zero = command.starts_at_zero});
  writer.output.write(header_text(command.target, {.source = command.path, .jobs = jobs->size()}));
  for (const Job& job : *jobs) {
    writer.write(job);
  }
  return ok_status();
}

Status convert_streaming(const TraceConvertCommand& command, Writer& writer,
                         std::vector<Diagnostic>& diagnostics) {
  writer.output.write(header_text(command.target, {.source = command.path}));
  ReaderSetup setup;
  setup.jobs = [&](Job&& job, std::uint64_t) { writer.write(job); };
  setup.diagnostics = [&](Diagnostic&& found) { diagnostics.push_back(std::move(found)); };
  return read_trace(command.path, command.format, std::move(setup));
}

}  // namespace

int run_trace_convert(const TraceConvertCommand& command, std::ostream& error) {
  OutputFile output(command.output);
  if (const Status opened = output.open(); !opened) {
    error << opened.error().message << "\n";
    return kExitBadInput;
  }
  Writer writer{.output = output, .target = command.target};
  std::vector<Diagnostic> diagnostics;
  const bool sorts = command.sorts || command.starts_at_zero;
  const Status converted = sorts ? convert_sorted(command, writer, diagnostics)
                                 : convert_streaming(command, writer, diagnostics);
  for (const Diagnostic& found : diagnostics) {
    error << fmt::format("{} [{}]\n", to_string(found), to_string(found.severity));
  }
  const Status done = converted ? output.commit() : converted;
  if (!done) {
    // Unusable rows are in the list above already.
    if (diagnostics.empty() || done.error().code == ErrorCode::Io) {
      error << done.error().message << "\n";
    }
    error << command.output << ": nothing written\n";
    return kExitBadInput;
  }
  if (writer.cut > 0) {
    error << fmt::format(
        "{} jobs say more than ElasticFlow CSV can hold (tenant, soft class, GPU "
        "type, worker counts, weight or value): left out\n",
        writer.cut);
  }
  error << fmt::format("{}: {} jobs\n", command.output, writer.jobs);
  return 0;
}

}  // namespace rubato
