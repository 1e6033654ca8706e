#include "rubato/cli/trace/trace_verbs.h"

#include <iostream>
#include <map>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "rubato/base/parse.h"
#include "rubato/cli/trace/trace_convert.h"
#include "rubato/cli/trace/trace_generate.h"
#include "rubato/cli/trace/trace_lint.h"
#include "rubato/core/topology.h"
#include "rubato/trace/formats/formats.h"

namespace rubato {
namespace {

// The GPUs of `128`, `16x8` or `16x8:A100+4x4:T4`.
Result<int> cluster_gpus(const std::string& text) {
  if (const auto gpus = parse_int(text)) {
    constexpr std::int64_t kMax = 1 << 20;
    return *gpus >= 1 && *gpus <= kMax
               ? Result<int>(static_cast<int>(*gpus))
               : bad_input(fmt::format("found {} GPUs, expected 1 to {}", *gpus, kMax));
  }
  auto topology = Topology::parse(text);
  if (!topology) {
    return topology.error();
  }
  return topology->gpus();
}

// For CLI11: what is wrong with the text of an option, or empty.
std::string cluster_problem(const std::string& text) {
  const auto gpus = cluster_gpus(text);
  return gpus ? std::string{} : gpus.error().message;
}

std::string format_problem(const std::string& text) {
  const auto reader = make_reader(text, {});
  return reader ? std::string{} : reader.error().message;
}

std::map<std::string, TraceTarget> targets() {
  return {{"rubato", TraceTarget::Rubato}, {"elasticflow", TraceTarget::ElasticFlow}};
}

std::string arrivals_problem(const std::string& text) {
  return parse_arrivals(text) ? std::string{}
                              : "found '" + text + "', expected poisson, diurnal or bursty";
}

void add_target(CLI::App& verb, TraceTarget& target) {
  verb.add_option("--to", target, "format to write: rubato (default) or elasticflow")
      ->transform(CLI::CheckedTransformer(targets()));
}

void add_input(CLI::App& verb, std::string& path, std::string& format) {
  verb.add_option("FILE", path, "the trace; - is standard input")->required();
  verb.add_option("--format", format, "format to read, see `rubato trace formats`; default: auto")
      ->check(format_problem);
}

// Options live as long as the callback that reads them: CLI11 copies callbacks, hence shared.
template <typename Command>
std::shared_ptr<Command> command_of() {
  return std::make_shared<Command>();
}

void add_lint(CLI::App& trace, int& exit_code) {
  CLI::App* verb = trace.add_subcommand("lint", "Find what is wrong or odd in a trace");
  const auto command = command_of<TraceLintCommand>();
  const auto cluster = std::make_shared<std::string>();
  add_input(*verb, command->path, command->format);
  verb->add_option("--cluster", *cluster, "GPUs (128 or 16x8): report jobs that ask for more")
      ->check(cluster_problem);
  verb->add_option("--speeds", command->speeds, "speeds file: report models it does not have");
  verb->add_flag("--json", command->is_json, "print JSON");
  verb->callback([command, cluster, &exit_code] {
    command->cluster_gpus = cluster->empty() ? 0 : cluster_gpus(*cluster).value();
    exit_code = run_trace_lint(*command, std::cout, std::cerr);
  });
}

void add_convert(CLI::App& trace, int& exit_code) {
  CLI::App* verb = trace.add_subcommand("convert", "Write a trace in another format");
  const auto command = command_of<TraceConvertCommand>();
  add_input(*verb, command->path, command->format);
  add_target(*verb, command->target);
  verb->add_option("-o,--output", command->output, "file to write; default: standard output");
  verb->add_flag("--sort", command->sorts, "sort by arrival (needs memory for all jobs)");
  verb->add_flag("--from-zero", command->starts_at_zero, "let the first job arrive at time zero");
  verb->callback([command, &exit_code] { exit_code = run_trace_convert(*command, std::cerr); });
}

void add_generate(CLI::App& trace, int& exit_code) {
  CLI::App* verb = trace.add_subcommand("generate", "Make up a trace from a seed");
  const auto command = command_of<TraceGenerateCommand>();
  const auto cluster = std::make_shared<std::string>("16x8");
  const auto arrivals = std::make_shared<std::string>("poisson");
  GeneratorOptions& options = command->options;
  options.seed = 1;
  verb->add_option("--jobs", options.jobs, "how many; default 1000");
  verb->add_option("--seed", options.seed, "default 1");
  verb->add_option("--cluster", *cluster, "GPUs the load is meant for (128 or 16x8); default 16x8")
      ->check(cluster_problem);
  verb->add_option("--load", options.load, "GPU time asked for over what there is; default 0.8");
  verb->add_option("--arrivals", *arrivals, "poisson (default), diurnal or bursty")
      ->check(arrivals_problem);
  verb->add_option("--profile", options.profile, "elasticflow (default), philly, helios or pai");
  verb->add_option("--best-effort", options.best_effort, "share of jobs without a deadline");
  verb->add_option("--soft", options.soft, "share of jobs with a soft deadline");
  verb->add_option("--tightness-min", options.tightness_min, "default 0.5");
  verb->add_option("--tightness-max", options.tightness_max,
                   "deadlines are arrival + U(min, max) * duration; default 1.5");
  verb->add_option("--tenants", options.tenants, "default 1");
  verb->add_option("--speeds", command->speeds, "speeds file; default: a built-in sample");
  add_target(*verb, command->target);
  verb->add_option("-o,--output", command->output, "file to write; default: standard output");
  verb->callback([command, cluster, arrivals, &exit_code] {
    command->options.cluster_gpus = cluster_gpus(*cluster).value();
    command->options.arrivals = parse_arrivals(*arrivals).value_or(ArrivalKind::Poisson);
    exit_code = run_trace_generate(*command, std::cerr);
  });
}

void add_formats(CLI::App& trace, int& exit_code) {
  CLI::App* verb = trace.add_subcommand("formats", "List the formats that can be read");
  verb->callback([&exit_code] {
    for (const TraceFormat& format : trace_formats()) {
      std::cout << fmt::format("{:<12}{}\n", format.name, format.summary);
    }
    exit_code = 0;
  });
}

}  // namespace

void add_trace_verbs(CLI::App& app, int& exit_code) {
  CLI::App* trace = app.add_subcommand("trace", "Read, check, convert and make traces");
  trace->require_subcommand(1);
  add_lint(*trace, exit_code);
  add_convert(*trace, exit_code);
  add_generate(*trace, exit_code);
  add_formats(*trace, exit_code);
}

}  // namespace rubato
