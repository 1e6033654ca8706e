#include "rubato/cli/shell/verb_tree.h"

#include <algorithm>

#include <CLI/CLI.hpp>

namespace rubato {
namespace {

VerbOption option_of(const CLI::Option& option) {
  VerbOption made{.about = option.get_description(),
                  .is_positional = option.get_positional(),
                  .is_required = option.get_required(),
                  .takes_value = option.get_items_expected_max() > 0};
  for (const std::string& name : option.get_snames()) {
    made.names.push_back("-" + name);
  }
  for (const std::string& name : option.get_lnames()) {
    made.names.push_back("--" + name);
  }
  if (made.names.empty()) {
    made.names.push_back(option.get_name());
  }
  return made;
}

void add_pages(const CLI::App& app, const std::string& path, std::vector<VerbPage>& pages) {
  VerbPage page{.path = path, .about = app.get_description()};
  for (const CLI::Option* option : app.get_options({})) {
    page.options.push_back(option_of(*option));
  }
  // Verbs without a group are for other parts of ours, not for people.
  const auto children =
      app.get_subcommands([](const CLI::App* child) { return !child->get_group().empty(); });
  for (const CLI::App* child : children) {
    page.verbs.push_back(child->get_name());
  }
  pages.push_back(std::move(page));
  for (const CLI::App* child : children) {
    add_pages(*child, path + " " + child->get_name(), pages);
  }
}

}  // namespace

bool VerbPage::takes_job() const {
  return std::ranges::any_of(options, [](const VerbOption& option) {
    return option.is_positional && option.names.front() == "job";
  });
}

std::vector<VerbPage> verb_pages(const CLI::App& program) {
  std::vector<VerbPage> pages;
  add_pages(program, "rubato", pages);
  return pages;
}

}  // namespace rubato
