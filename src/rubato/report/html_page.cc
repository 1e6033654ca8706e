#include "rubato/report/html_page.h"

#include <fmt/core.h>

#include "rubato/report/escape.h"
#include "rubato/report/html_assets.h"
#include "rubato/report/units.h"

namespace rubato {
namespace {

// Nothing may be loaded or sent, whatever a name in the data may contain.
constexpr std::string_view kHead = R"html(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
)html";

constexpr std::size_t kLinesOpen = 12;  // More lines on provenance are folded away.

std::string fact(std::string_view name, std::string_view value) {
  return value.empty() ? ""
                       : fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", html_escaped(name),
                                     html_escaped(value));
}

}  // namespace

std::string html_head(const ReportHeader& header) {
  std::string html(kHead);
  html += fmt::format("<title>Rubato: {} on {}</title>\n", html_escaped(header.trace),
                      html_escaped(header.cluster));
  html += fmt::format("<style>{}{}</style>\n</head>\n<body>\n<main>\n", html_style(),
                      html_style_charts());
  return html;
}

std::string html_header(const ReportHeader& header, std::string_view title, std::string_view jobs) {
  std::string html = "<header><p class=\"brand\">Rubato</p>\n";
  html += fmt::format("<h1>{}</h1>\n<dl class=\"facts\">\n", html_escaped(title));
  html += fact("trace", header.trace);
  html += fact("jobs", jobs);
  html += fact("cluster", header.cluster);
  html += fact("seed", fmt::format("{}", header.seed));
  html += fact("resize cost", header.overhead);
  html += fact("slot", header.slot_seconds > 0 ? human_seconds(header.slot_seconds) : "");
  html += fact("version", header.version);
  html += "</dl>\n";
  if (!header.command.empty()) {
    html +=
        fmt::format("<pre class=\"command\"><code>{}</code></pre>\n", html_escaped(header.command));
  }
  const bool is_long = header.provenance.size() > kLinesOpen;
  html += is_long ? "<details><summary>Where speeds and work come from</summary>\n" : "";
  for (const std::string& line : header.provenance) {
    html += fmt::format("<p class=\"provenance\">{}</p>\n", html_escaped(line));
  }
  return html + (is_long ? "</details>\n</header>\n" : "</header>\n");
}

std::string html_script(std::initializer_list<std::string_view> parts) {
  std::string text = "<script>(() => {\n'use strict';\n";
  for (const std::string_view part : parts) {
    text += part;
  }
  return text + "})();</script>\n";
}

}  // namespace rubato
