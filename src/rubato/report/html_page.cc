#include "rubato/report/html_page.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "rubato/report/escape.h"
#include "rubato/report/units.h"

namespace rubato {
namespace {

using PageJson = nlohmann::ordered_json;

// [[name, value]...] of those that are known.
PageJson facts_of(const ReportHeader& header, const std::string& jobs) {
  PageJson facts = PageJson::array();
  const auto add = [&facts](std::string_view name, const std::string& value) {
    if (!value.empty()) {
      facts.push_back({name, value});
    }
  };
  add("trace", header.trace);
  add("jobs", jobs);
  add("cluster", header.cluster);
  add("seed", fmt::format("{}", header.seed));
  add("resize cost", header.overhead);
  add("slot", header.slot_seconds > 0 ? human_seconds(header.slot_seconds) : "");
  add("version", header.version);
  return facts;
}

std::string data_of(const ReportHeader& header, const HtmlPage& page) {
  PageJson head{{"kind", page.kind},
                {"title", page.title},
                {"facts", facts_of(header, page.jobs)},
                {"command", header.command},
                {"provenance", header.provenance}};
  std::string data = head.dump(-1, ' ', /*ensure_ascii=*/false, PageJson::error_handler_t::replace);
  data.pop_back();  // The rest is JSON already, and large.
  data += ",\"comparison\":" + page.comparison;
  if (!page.pictures.empty()) {
    data += ",\"pictures\":" + page.pictures;
  }
  return data + "}";
}

}  // namespace

Status can_write_html(const HtmlDocument& document) {
  if (document.to_end.empty()) {
    return Error{.code = ErrorCode::BadConfig,
                 .message =
                     "this program was built without web/ (RUBATO_WEB=OFF), which HTML "
                     "reports are made of"};
  }
  return ok_status();
}

Result<std::string> html_page(const HtmlDocument& document, const ReportHeader& header,
                              const HtmlPage& page) {
  if (const Status can = can_write_html(document); !can) {
    return can.error();
  }
  std::string html(document.to_title);
  html += html_escaped(fmt::format("Rubato: {} on {}", header.trace, header.cluster));
  html += document.to_text;
  html += html_escaped(page.text);
  html += document.to_data;
  html += script_safe(data_of(header, page));
  html += document.to_end;
  return html;
}

}  // namespace rubato
