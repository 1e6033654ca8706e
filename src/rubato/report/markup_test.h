// Whether a page is well formed, for the tests of this folder.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace rubato {

/// The first tag that is not closed in order, or nothing. Scripts and styles are skipped as text.
inline std::string unbalanced_tag(std::string_view html) {
  const std::set<std::string_view> empty{"meta", "input", "br", "!DOCTYPE"};
  std::vector<std::string> open;
  for (std::size_t at = html.find('<'); at != std::string_view::npos; at = html.find('<', at + 1)) {
    const bool closes = html[at + 1] == '/';
    const std::size_t start = at + (closes ? 2 : 1);
    const std::string name(html.substr(start, html.find_first_of(" >\n", start) - start));
    if (closes) {
      if (open.empty() || open.back() != name) {
        return name;
      }
      open.pop_back();
    } else if (!empty.contains(name)) {
      open.push_back(name);
      if (name == "script" || name == "style") {
        at = html.find("</" + name, at) - 1;
      }
    }
  }
  return open.empty() ? "" : open.back();
}

}  // namespace rubato
