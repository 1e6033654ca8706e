// One self-contained page: the document of web/ with a report inside.
#pragma once

#include <string>
#include <string_view>

#include "rubato/base/result.h"
#include "rubato/report/html_document.h"
#include "rubato/report/report.h"

namespace rubato {

/// What all pages have in common, and what only one has.
struct HtmlPage {
  std::string_view kind{};   // "comparison" or "tournament".
  std::string title{};       // Above everything.
  std::string jobs{};        // How many there are; empty if there is no one number.
  std::string comparison{};  // JSON of comparison_data.h.
  std::string pictures{};    // JSON of html_data.h; empty if there are none.
  std::string text{};        // The comparison for readers without JavaScript.
};

/// Fails if there is no document to write into.
[[nodiscard]] Result<std::string> html_page(const HtmlDocument& document,
                                            const ReportHeader& header, const HtmlPage& page);

/// Whether this program can write pages at all.
[[nodiscard]] Status can_write_html(const HtmlDocument& document = html_document());

}  // namespace rubato
