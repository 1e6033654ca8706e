// Files that the server gives to anyone who can reach it: the dashboard, which asks for a token
// itself.
#pragma once

#include <map>
#include <string>

namespace rubato {

struct StaticFile {
  std::string content_type{};
  std::string bytes{};
};

/// By path, such as `/` or `/app.js`.
using StaticFiles = std::map<std::string, StaticFile>;

}  // namespace rubato
