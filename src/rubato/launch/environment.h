// The environment of a process as a value: started programs see what is written down, no more.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rubato {

/// Names and values, in order of name.
using Environment = std::map<std::string, std::string>;

/// What this process was given; a name without `=` is left out.
[[nodiscard]] Environment inherited_environment();

/// `base`, with the values of `changes` where both have the name.
[[nodiscard]] Environment overridden(Environment base, const Environment& changes);

/// The value, or `otherwise` where the name is absent.
[[nodiscard]] std::string_view value_or(const Environment& environment, const std::string& name,
                                        std::string_view otherwise);

/// `NAME=value`, as the kernel wants it.
[[nodiscard]] std::vector<std::string> assignments(const Environment& environment);

}  // namespace rubato
