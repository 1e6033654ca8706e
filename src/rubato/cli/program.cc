#include "rubato/cli/program.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <iterator>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "rubato/base/spelling.h"
#include "rubato/cli/client/job_verbs.h"
#include "rubato/cli/client/submit_verbs.h"
#include "rubato/cli/demo/demo_verb.h"
#include "rubato/cli/doctor/doctor_verb.h"
#include "rubato/cli/platform/agent_verb.h"
#include "rubato/cli/platform/cluster_verbs.h"
#include "rubato/cli/platform/conduct_verb.h"
#include "rubato/cli/platform/emulate_verb.h"
#include "rubato/cli/platform/up_verb.h"
#include "rubato/cli/policy/policy_verb.h"
#include "rubato/cli/process/exit_code.h"
#include "rubato/cli/shell/shell_verbs.h"
#include "rubato/cli/simulate/sim_verb.h"
#include "rubato/cli/trace/trace_verbs.h"
#include "rubato/cli/train/check_verb.h"
#include "rubato/cli/train/train_verb.h"
#include "rubato/live/rest/openapi.h"

namespace rubato {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    line += (line.empty() ? "" : " ") + word;
  }
  return line;
}

// Usage errors are 64 whatever CLI11 would make of them; asking for help is no error.
int usage(const CLI::App& app, const CLI::ParseError& error,
          const std::vector<std::string>& arguments) {
  if (error.get_exit_code() == 0) {
    return app.exit(error);
  }
  fmt::print(stderr, "rubato: {}", error.what());
  std::vector<std::string_view> verbs;
  const auto subcommands = app.get_subcommands(std::function<bool(const CLI::App*)>{});
  for (const CLI::App* verb : subcommands) {
    verbs.push_back(verb->get_name());
  }
  if (arguments.size() > 1 && std::ranges::find(verbs, arguments[1]) == verbs.end()) {
    fmt::print(stderr, "{}", suggestion(arguments[1], verbs));
  }
  fmt::print(stderr, "\nRun with --help for what can be asked.\n");
  return kExitUsage;
}

}  // namespace

int run_program(const std::vector<std::string>& arguments) {
  int code = kExitOk;
  CLI::App app("Elastic, deadline-aware training of deep networks on shared clusters", "rubato");
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Help on all verbs");
  const std::string command = joined(arguments);
  add_submit_verbs(app, code);
  add_job_verbs(app, code);
  add_cluster_verbs(app, code);
  add_sim_verb(app, code, command);
  add_policy_verb(app, code);
  add_trace_verbs(app, code);
  add_demo_verb(app, code, command);
  add_train_verb(app, code);
  add_check_verb(app, code);
  add_up_verb(app, code);
  add_agent_verb(app, "agent", code);
  add_doctor_verb(app, code);
  add_conduct_verb(app, code);
  add_emulate_verb(app, code);
  app.add_subcommand("version", "Print the version")->callback([] {
    fmt::print("rubato {}\n", RUBATO_VERSION);
  });
  // For `make docs`; users find the document on the server.
  app.add_subcommand("openapi", "Print the OpenAPI document of the REST interface")
      ->group("")
      ->callback([] { fmt::print("{}", openapi_document()); });
  add_shell_verbs(app, code);
  // CLI11 takes the arguments last one first, without the program's name.
  std::vector<std::string> reversed(arguments.rbegin(), std::prev(arguments.rend()));
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    return usage(app, error, arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "rubato: {}\n", error.what());
    return kExitBug;
  }
  return code;
}

}  // namespace rubato
