// Completion for shells, made from the verbs there are.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "rubato/base/result.h"
#include "rubato/cli/shell/verb_tree.h"

namespace rubato {

/// A script for bash, zsh or fish. Ids of jobs are asked of `rubato list --quiet`.
[[nodiscard]] Result<std::string> completion_script(std::string_view shell,
                                                    std::span<const VerbPage> pages);

}  // namespace rubato
