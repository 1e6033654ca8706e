#include "rubato/cli/trace/trace_generate.h"

#include <ostream>
#include <utility>

#include <fmt/format.h>

#include "rubato/base/parse.h"
#include "rubato/cli/process/exit_code.h"
#include "rubato/cli/process/trace_output.h"
#include "rubato/cli/trace/trace_speeds.h"

namespace rubato {
namespace {

// How the trace came to be, for its header.
std::string source_of(const GeneratorOptions& options) {
  return fmt::format("rubato trace generate --profile {} --arrivals {} --cluster {} --load {}",
                     options.profile, to_string(options.arrivals), options.cluster_gpus,
                     shortest(options.load));
}

}  // namespace

int run_trace_generate(const TraceGenerateCommand& command, std::ostream& error) {
  GeneratorOptions options = command.options;
  const auto speeds = load_speeds(command.speeds);
  if (!speeds) {
    error << speeds.error().message << "\n";
    return kExitBadInput;
  }
  options.models = model_choices(*speeds);
  options.speed = speed_of(*speeds);
  auto generator = Generator::make(options);
  if (!generator) {
    error << generator.error().message << "\n";
    return kExitUsage;
  }
  OutputFile output(command.output);
  Status written = output.open();
  if (written.ok()) {
    output.write(
        header_text(command.target,
                    {.source = source_of(options), .seed = options.seed, .jobs = options.jobs}));
    while (const auto job = generator->next()) {
      output.write(job_text(command.target, *job));
    }
    written = output.commit();
  }
  if (!written) {
    error << written.error().message << "\n";
    return kExitBadInput;
  }
  error << fmt::format("seed {}: {} jobs, {:.1f} s apart on average -> {}\n", options.seed,
                       options.jobs, generator->mean_gap(), command.output);
  return 0;
}

}  // namespace rubato
