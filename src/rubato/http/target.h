// What follows the method of a request: the path's segments and the query, unescaped.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/base/result.h"

namespace rubato {

struct HttpTarget {
  std::string path{};                          // Still escaped.
  std::vector<std::string> segments{};         // Of `/v1/jobs/7`: `v1`, `jobs`, `7`.
  std::map<std::string, std::string> query{};  // A name may be given once.
};

/// Fails on bad escapes and on what is not plain text, so that nothing behind needs to fear either.
[[nodiscard]] Result<HttpTarget> parse_target(std::string_view target);

/// One segment as it is written in a path.
[[nodiscard]] std::string escaped_segment(std::string_view segment);

}  // namespace rubato
