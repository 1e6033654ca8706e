#include "rubato/cli/train/check_verb.h"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <poll.h>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "rubato/cli/process/exit_code.h"
#include "rubato/cli/process/verb_failure.h"
#include "rubato/job/worker_environment.h"
#include "rubato/launch/process/process.h"
#include "rubato/launch/process/program_path.h"
#include "rubato/launch/script/python_command.h"

namespace rubato {
namespace {

namespace fs = std::filesystem;
using launch::script::PythonCommand;

constexpr int kSignalledCode = 128;  // And the signal's number, as shells have it.

/// What `rubato check` was asked for.
struct CheckFlags {
  std::string python = "python3";
  std::uint64_t steps = 0;
  double seconds = 0;
  bool prints_json = false;
  // Two places for what is one list: after `--`, CLI11 goes on with an empty place only.
  std::string first_word{};
  std::vector<std::string> other_words{};
};

// The interpreter first, whether it was named or not.
std::vector<std::string> python_words(const CheckFlags& flags) {
  std::vector<std::string> words;
  if (!launch::script::is_python_program(flags.first_word)) {
    words.push_back(flags.python);
  }
  words.push_back(flags.first_word);
  words.insert(words.end(), flags.other_words.begin(), flags.other_words.end());
  return words;
}

// The package lies beside this program; whatever the user has in PYTHONPATH comes first.
Environment check_environment(Environment environment) {
  const std::string package = fs::path(own_program()).parent_path() / "python";
  std::string& path = environment["PYTHONPATH"];
  path = path.empty() ? package : fmt::format("{}:{}", path, package);
  return environment;
}

// `python3 -m rubato.check` with these options, on a command that begins with its interpreter.
Result<ExitStatus> run_check(const std::vector<std::string>& options,
                             const std::vector<std::string>& command, const Environment& base,
                             const std::string& directory) {
  const Environment environment = check_environment(base);
  const auto python = program_path(command.front(), environment, directory);
  if (!python) {
    return python.error();
  }
  std::vector<std::string> argv{*python, "-m", "rubato.check"};
  argv.insert(argv.end(), options.begin(), options.end());
  argv.emplace_back("--");
  argv.insert(argv.end(), command.begin() + 1, command.end());
  auto process = Process::start({.argv = std::move(argv),
                                 .environment = environment,
                                 .directory = directory,
                                 .group = ProcessGroup::Ours,
                                 .dies_with_parent = true});
  if (!process) {
    return process.error();
  }
  while (true) {
    pollfd ended{.fd = process->descriptor(), .events = POLLIN, .revents = 0};
    ::poll(&ended, 1, -1);
    if (const auto status = process->poll_exit()) {
      return *status;
    }
  }
}

// The script or module of a command; nothing if it is another program.
std::optional<PythonCommand> checkable(const std::vector<std::string>& command) {
  auto python = launch::script::python_command(command);
  if (!python || python->kind == PythonCommand::Kind::Text) {
    return std::nullopt;
  }
  return python;
}

int check(const CheckFlags& flags) {
  const std::vector<std::string> command = python_words(flags);
  const std::string directory = fs::current_path().string();
  const Environment environment = worker_environment();
  const auto python = checkable(command);
  if (!python) {
    return fail_verb("check", bad_input("expected a Python script: rubato check train.py, or "
                                        "rubato check -- python3 train.py"));
  }
  if (!launch::script::runs_as_script(command, directory, environment)) {
    fmt::print(stderr,
               "rubato check: {} uses rubato.Trainer and runs in every worker: the trainer checks "
               "it as it trains\n",
               python->main);
    return kExitNotChecked;
  }
  std::vector<std::string> options;
  if (flags.prints_json) {
    options.emplace_back("--json");
  }
  if (flags.steps > 0) {
    options.insert(options.end(), {"--steps", std::to_string(flags.steps)});
  }
  if (flags.seconds > 0) {
    options.insert(options.end(), {"--seconds", fmt::format("{}", flags.seconds)});
  }
  const auto status = run_check(options, command, environment, directory);
  if (!status) {
    return fail_verb("check", status.error());
  }
  return status->signal != 0 ? kSignalledCode + status->signal : status->code;
}

}  // namespace

bool passes_short_check(const wire::JobSpec& spec) {
  const std::vector<std::string> command(spec.command().begin(), spec.command().end());
  const std::string& directory = spec.working_directory();
  const bool is_elastic = spec.kind().empty() || spec.kind() == "elastic";
  const Environment environment = overridden(
      worker_environment(), Environment(spec.environment().begin(), spec.environment().end()));
  const auto python = checkable(command);
  if (!is_elastic || !python || python->is_isolated ||
      !launch::script::runs_as_script(command, directory, environment)) {
    return true;
  }
  // A program that lies elsewhere is the platform's to run.
  std::error_code failure;
  const bool is_here = python->kind == PythonCommand::Kind::Module ||
                       fs::is_regular_file(fs::path(directory) / python->main, failure);
  if (!is_here) {
    return true;
  }
  std::vector<std::string> options{"--short"};
  if (spec.steps() >= 1) {
    options.insert(options.end(), {"--steps", fmt::format("{:.0f}", std::floor(spec.steps()))});
  }
  const auto status = run_check(options, command, environment, directory);
  return !status || status->code != kExitBadInput;
}

void add_check_verb(CLI::App& app, int& code) {
  CLI::App* verb = app.add_subcommand(
      "check",
      "Try a script's first steps, shared, resized and killed, and say what will be shared: rubato "
      "check train.py. Returns 0 only if the results are those of plain Python");
  const auto flags = std::make_shared<CheckFlags>();
  verb->prefix_command(false);
  verb->positionals_at_end();
  verb->add_option("--python", flags->python, "Interpreter, if the command does not name one");
  verb->add_option("--steps", flags->steps,
                   "Steps that you expect; a warning tells if the script takes others");
  verb->add_option("--seconds", flags->seconds, "Time limit, 55 if not said")
      ->check(CLI::Range(5.0, 3600.0));
  verb->add_flag("--json", flags->prints_json, "Print what was found as JSON");
  verb->add_option("script", flags->first_word, "The script, or after -- python3 and the script")
      ->required();
  verb->add_option("arguments", flags->other_words, "Of the script; after -- if they begin with -");
  verb->callback([flags, &code] { code = check(*flags); });
}

}  // namespace rubato
