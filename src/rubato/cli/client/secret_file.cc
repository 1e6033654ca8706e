#include "rubato/cli/client/secret_file.h"

#include <fstream>

#include <fmt/core.h>

namespace rubato {

Result<std::string> secret_of(const std::string& path, bool is_line) {
  std::ifstream file(path);
  std::string text;
  if (!file || !std::getline(file, text, is_line ? '\n' : '\0') || text.empty()) {
    return bad_input(fmt::format("cannot read {}, or it is empty", path));
  }
  return text;
}

}  // namespace rubato
