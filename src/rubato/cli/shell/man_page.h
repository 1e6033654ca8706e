// Man pages, made from the verbs there are: one for the program, one for each of its verbs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "rubato/cli/shell/verb_tree.h"

namespace rubato {

struct ManPage {
  std::string file{};  // `rubato-run.1`
  std::string text{};  // For man(1).
};

/// A verb's page also has the verbs below it.
[[nodiscard]] std::vector<ManPage> man_pages(std::span<const VerbPage> pages);

}  // namespace rubato
