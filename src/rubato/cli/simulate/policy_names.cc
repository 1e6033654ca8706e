#include "rubato/cli/simulate/policy_names.h"

#include <algorithm>

namespace rubato {

std::vector<std::string> split_policies(const std::vector<std::string>& given) {
  std::vector<std::string> policies;
  for (const std::string& list : given) {
    std::size_t from = 0;
    while (from <= list.size()) {
      const std::size_t comma = std::min(list.find(',', from), list.size());
      const std::string part = list.substr(from, comma - from);
      const bool goes_on = part.find('=') != std::string::npos &&
                           part.find(':') == std::string::npos && !policies.empty();
      if (goes_on) {
        policies.back() += "," + part;
      } else if (!part.empty()) {
        policies.push_back(part);
      }
      from = comma + 1;
    }
  }
  return policies;
}

}  // namespace rubato
