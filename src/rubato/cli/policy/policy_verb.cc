#include "rubato/cli/policy/policy_verb.h"

#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "rubato/cli/platform/cluster_verbs.h"
#include "rubato/cli/policy/policy_markdown.h"
#include "rubato/cli/policy/policy_new.h"
#include "rubato/cli/process/exit_code.h"
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
                        {"use_when", info.use_when},
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
    fmt::print("{:<{}}  {}\n", info.name, widest, info.objective);
    fmt::print("{:<{}}  use: {}; needs {}\n", "", widest, info.use_when, info.needs);
    fmt::print("{:<{}}  from: {} ({})\n", "", widest, info.paper, info.fidelity);
    if (!info.options.empty()) {
      fmt::print("{:<{}}  options: {}\n", "", widest, info.options);
    }
  }
}

struct ListForm {
  bool json = false;
  bool markdown = false;
};

void print_list(const ListForm& form) {
  if (form.json) {
    print_json();
  } else if (form.markdown) {
    fmt::print("{}", policy_markdown(all_policies()));
  } else {
    print_text();
  }
}

}  // namespace

void add_policy_verb(CLI::App& app, int& code) {
  CLI::App* policy = app.add_subcommand("policy", "What schedulers there are; how to add one");
  policy->require_subcommand(1);
  CLI::App* list = policy->add_subcommand("list", "List them");
  const auto form = std::make_shared<ListForm>();
  CLI::Option* json = list->add_flag("--json", form->json, "Print JSON");
  list->add_flag("--markdown", form->markdown, "Print docs/policies.md")->excludes(json);
  list->callback([form, &code] {
    print_list(*form);
    code = kExitOk;
  });
  CLI::App* create = policy->add_subcommand("new", "Write a working policy with its test");
  const auto request = std::make_shared<NewPolicyRequest>();
  create->add_option("name", request->name, "Small letters and digits joined by '-'")->required();
  create->add_option("--dir", request->dir, "Folder of the policies")->capture_default_str();
  create->callback([request, &code] { code = run_policy_new(*request); });
  add_live_policy_verbs(*policy, code);
}

}  // namespace rubato
