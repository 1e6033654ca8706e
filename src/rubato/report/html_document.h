// The page of a report without what is in it: bundled from web/src/report when the program is
// built.
#pragma once

#include <string_view>

namespace rubato {

/// Four parts: between them stand title, text for readers without JavaScript, and data. The last
/// one holds the script. All are empty in programs that were built without web/.
struct HtmlDocument {
  std::string_view to_title{};
  std::string_view to_text{};
  std::string_view to_data{};
  std::string_view to_end{};
};

[[nodiscard]] HtmlDocument html_document();

}  // namespace rubato
