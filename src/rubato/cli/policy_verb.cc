#include "rubato/cli/policy_verb.h"

#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "rubato/cli/exit_code.h"
#include "rubato/policy/registry.h"

namespace rubato {
namespace {

void print_json() {
  auto policies = nlohmann::ordered_json::array();
  for (const PolicyInfo& info : all_policies()) {
    policies.push_back({{"name", info.name},
                        {"paper", info.paper},
                        {"fidelity", info.fidelity},
                        {"objective", info.objective},
                        {"needs", info.needs},
                        {"options", info.options}});
  }
  fmt::print("{}\n", nlohmann::ordered_json{{"policies", policies}}.dump(2));
}

void print_text() {
  std::size_t widest = 0;
  for (const PolicyInfo& info : all_policies()) {
    widest = std::max(widest, info.name.size());
  }
  for (const PolicyInfo& info : all_policies()) {
    fmt::print("{:<{}}  {}\n{:<{}}  needs {}; {}; {}\n", info.name, widest, info.objective, "",
               widest, info.needs, info.paper, info.fidelity);
    if (!info.options.empty()) {
      fmt::print("{:<{}}  options: {}\n", "", widest, info.options);
    }
  }
}

}  // namespace

void add_policy_verb(CLI::App& app, int& exit_code) {
  CLI::App* policy = app.add_subcommand("policy", "What schedulers there are");
  policy->require_subcommand(1);
  CLI::App* list = policy->add_subcommand("list", "List them");
  const auto json = std::make_shared<bool>(false);
  list->add_flag("--json", *json, "Print JSON");
  list->callback([json, &exit_code] {
    *json ? print_json() : print_text();
    exit_code = kExitOk;
  });
}

}  // namespace rubato
