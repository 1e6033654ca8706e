// Style and script of the HTML report, one function for each idea of the page.
//
// The parts of the script run in one function of their own, in the order in which they stand here;
// each may use what the ones before it define.
#pragma once

#include <string_view>

namespace rubato {

[[nodiscard]] std::string_view html_style();
[[nodiscard]] std::string_view html_style_charts();
[[nodiscard]] std::string_view html_style_tournament();

/// Data, elements, numbers and times as text, tooltip.
[[nodiscard]] std::string_view html_script_base();
/// Axes: scales, ticks, the frame of a chart.
[[nodiscard]] std::string_view html_script_axes();
/// Sorting of the comparison.
[[nodiscard]] std::string_view html_script_sort();
/// Colours of the comparison, legend that shows and hides policies.
[[nodiscard]] std::string_view html_script_table();
/// Lines: distributions, use and deadlines over time.
[[nodiscard]] std::string_view html_script_lines();
/// Promised against actual finish, histogram of the slack.
[[nodiscard]] std::string_view html_script_promises();
/// Who held which GPU when.
[[nodiscard]] std::string_view html_script_gantt();
/// Zoom, pan and search in it.
[[nodiscard]] std::string_view html_script_gantt_input();
/// Pictures of a tournament, in place of the four above: which trace, scatter, bars.
[[nodiscard]] std::string_view html_script_tournament();

}  // namespace rubato
