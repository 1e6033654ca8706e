#include "rubato/cli/shell/shell_verbs.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "rubato/cli/process/exit_code.h"
#include "rubato/cli/shell/completion.h"
#include "rubato/cli/shell/man_page.h"
#include "rubato/cli/shell/verb_tree.h"

namespace rubato {
namespace {

int print_completion(const CLI::App& app, const std::string& shell) {
  const auto script = completion_script(shell, verb_pages(app));
  if (!script) {
    fmt::print(stderr, "rubato completion: {}\n", script.error().message);
    return kExitBadInput;
  }
  fmt::print("{}", *script);
  return kExitOk;
}

int write_man_pages(const CLI::App& app, const std::string& folder) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  for (const ManPage& page : man_pages(verb_pages(app))) {
    std::ofstream file(std::filesystem::path(folder) / page.file);
    if (!(file << page.text << std::flush)) {
      fmt::print(stderr, "rubato man: cannot write {} in {}\n", page.file, folder);
      return kExitBadInput;
    }
  }
  return kExitOk;
}

}  // namespace

void add_shell_verbs(CLI::App& app, int& exit_code) {
  CLI::App* completion = app.add_subcommand(
      "completion", "Print what makes a shell complete our verbs, flags and job ids");
  const auto shell = std::make_shared<std::string>();
  completion->add_option("shell", *shell, "bash, zsh or fish")->required();
  completion->callback([&app, shell, &exit_code] { exit_code = print_completion(app, *shell); });

  CLI::App* man = app.add_subcommand("man", "Write the man pages into a directory");
  const auto folder = std::make_shared<std::string>();
  man->add_option("directory", *folder, "Where to; made if it is not there")->required();
  man->callback([&app, folder, &exit_code] { exit_code = write_man_pages(app, *folder); });
}

}  // namespace rubato
