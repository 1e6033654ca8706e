#include "rubato/cli/trace/trace_lint.h"

#include <algorithm>
#include <ostream>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rubato/cli/process/exit_code.h"
#include "rubato/cli/trace/trace_file.h"
#include "rubato/cli/trace/trace_speeds.h"
#include "rubato/trace/lint.h"

namespace rubato {
namespace {

struct Findings {
  std::uint64_t jobs = 0;
  std::vector<Diagnostic> all{};

  [[nodiscard]] std::ptrdiff_t count(Severity severity) const {
    return std::ranges::count(all, severity, &Diagnostic::severity);
  }
};

std::string json_text(const TraceLintCommand& command, const Findings& findings) {
  nlohmann::ordered_json problems = nlohmann::ordered_json::array();
  for (const Diagnostic& found : findings.all) {
    problems.push_back({{"file", found.file},
                        {"line", found.line},
                        {"field", found.field},
                        {"severity", to_string(found.severity)},
                        {"message", found.message},
                        {"suggestion", found.suggestion}});
  }
  const nlohmann::ordered_json report{{"trace", command.path},
                                      {"jobs", findings.jobs},
                                      {"errors", findings.count(Severity::Error)},
                                      {"warnings", findings.count(Severity::Warning)},
                                      {"problems", std::move(problems)}};
  return report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string plain_text(const TraceLintCommand& command, const Findings& findings) {
  std::string text;
  for (const Diagnostic& found : findings.all) {
    text += fmt::format("{} [{}]\n", to_string(found), to_string(found.severity));
  }
  return text + fmt::format("{}: {} jobs, {} errors, {} warnings\n", command.path, findings.jobs,
                            findings.count(Severity::Error), findings.count(Severity::Warning));
}

}  // namespace

int run_trace_lint(const TraceLintCommand& command, std::ostream& out, std::ostream& error) {
  LintOptions options{.file = command.path, .cluster_gpus = command.cluster_gpus};
  if (!command.speeds.empty()) {
    const auto speeds = load_speeds(command.speeds);
    if (!speeds) {
      error << speeds.error().message << "\n";
      return kExitBadInput;
    }
    for (const ModelChoice& choice : model_choices(*speeds)) {
      options.models.push_back(choice.model);
    }
  }
  Findings findings;
  const auto keep = [&](Diagnostic&& found) { findings.all.push_back(std::move(found)); };
  Linter linter(std::move(options), keep);
  ReaderSetup setup;
  setup.jobs = [&](Job&& job, std::uint64_t line) {
    ++findings.jobs;
    linter.see(job, line);
  };
  setup.diagnostics = keep;
  const Status read = read_trace(command.path, command.format, std::move(setup));
  if (!read && read.error().code == ErrorCode::Io) {
    error << read.error().message << "\n";
    return kExitBadInput;
  }
  linter.finish();
  std::ranges::stable_sort(findings.all, {}, &Diagnostic::line);
  out << (command.is_json ? json_text(command, findings) : plain_text(command, findings));
  return findings.count(Severity::Error) > 0 ? kExitBadInput : 0;
}

}  // namespace rubato
