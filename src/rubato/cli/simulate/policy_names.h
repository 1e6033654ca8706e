// A list of policies as the user types it: names and their options both use commas.
#pragma once

#include <string>
#include <vector>

namespace rubato {

/// `fifo,tiresias:thresholds=1/2,gittins=on,edf` is fifo, tiresias with two options, and edf: a
/// part with '=' but no ':' goes on with the options before it.
[[nodiscard]] std::vector<std::string> split_policies(const std::vector<std::string>& given);

}  // namespace rubato
