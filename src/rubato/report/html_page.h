// What all pages have in common: head with style, and where the numbers come from.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "rubato/report/report.h"

namespace rubato {

/// From the doctype to the opening <main>.
[[nodiscard]] std::string html_head(const ReportHeader& header);

/// Title, facts and command; `jobs` says how many there are.
[[nodiscard]] std::string html_header(const ReportHeader& header, std::string_view title,
                                      std::string_view jobs);

/// The parts of html_assets.h, run one after the other in a function of their own.
[[nodiscard]] std::string html_script(std::initializer_list<std::string_view> parts);

}  // namespace rubato
