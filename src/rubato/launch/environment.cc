#include "rubato/launch/environment.h"

#include <unistd.h>

#include <fmt/format.h>

namespace rubato {

Environment inherited_environment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) {
      environment.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return environment;
}

Environment overridden(Environment base, const Environment& changes) {
  for (const auto& [name, value] : changes) {
    base[name] = value;
  }
  return base;
}

std::string_view value_or(const Environment& environment, const std::string& name,
                          std::string_view otherwise) {
  const auto found = environment.find(name);
  return found == environment.end() ? otherwise : std::string_view(found->second);
}

std::vector<std::string> assignments(const Environment& environment) {
  std::vector<std::string> list;
  list.reserve(environment.size());
  for (const auto& [name, value] : environment) {
    list.push_back(fmt::format("{}={}", name, value));
  }
  return list;
}

}  // namespace rubato
