// Whether a page is well formed and keeps to itself, and what is in it, for the tests of this
// folder.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace rubato {

/// The text between two marks.
inline std::string between(std::string_view text, std::string_view from, std::string_view to) {
  const std::size_t start = text.find(from) + from.size();
  return std::string(text.substr(start, text.find(to, start) - start));
}

/// What the script of a page draws.
inline nlohmann::json data_in(std::string_view html) {
  return nlohmann::json::parse(
      between(html, "<script type=\"application/json\" id=\"data\">", "</script>"));
}

/// A word that a page would need to ask anybody for anything, or nothing. The names of XML's
/// namespaces are no addresses.
inline std::string outside_word(std::string html) {
  constexpr std::string_view kNamespace = "http://www.w3.org/";
  for (std::size_t at = html.find(kNamespace); at != std::string::npos;
       at = html.find(kNamespace)) {
    html.erase(at, kNamespace.size());
  }
  for (const char* word : {"http:", "https:", "src=\"", "href=\"", "@import", "url(", "fetch(",
                           "XMLHttpRequest", "WebSocket", "EventSource", "import(", "eval("}) {
    if (html.find(word) != std::string::npos) {
      return word;
    }
  }
  return "";
}

/// The first tag that is not closed in order, or nothing. Scripts and styles are skipped as text.
inline std::string unbalanced_tag(std::string_view html) {
  const std::set<std::string_view> empty{"meta", "input", "br", "!doctype"};
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
