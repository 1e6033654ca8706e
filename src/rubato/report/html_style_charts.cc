// Charts, legend, tooltip and controls.
#include "rubato/report/html_assets.h"

namespace rubato {
namespace {

constexpr std::string_view kChartsStyle = R"css(
.grid {
  display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 20px; margin-top: 12px;
}
.grid .card { margin: 0; }
.plot { position: relative; min-width: 0; }
.plot svg { display: block; width: 100%; overflow: visible; touch-action: pan-y; }
.plot text { font-size: 11.5px; fill: var(--soft); font-variant-numeric: tabular-nums; }
.plot .axis { stroke: var(--line); stroke-width: 1; shape-rendering: crispEdges; }
.plot .zero { stroke: var(--soft); stroke-width: 1; shape-rendering: crispEdges; }
.plot .cross { stroke: var(--soft); stroke-dasharray: 3 3; }
.plot .line { fill: none; stroke-width: 2; stroke-linejoin: round; }
.plot .dot { stroke: var(--card); stroke-width: 1.5; }
.kept { fill: var(--met); } .broken { fill: var(--missed); }
.none { color: var(--soft); font-size: 14px; padding: 24px 0; text-align: center; }
.legend {
  position: sticky; top: 0; z-index: 3; display: flex; flex-wrap: wrap; gap: 6px;
  margin: 20px -4px 0;
  padding: 8px 4px; background: var(--ground);
}
.legend button {
  font: inherit; font-size: 13px; display: inline-flex; align-items: center; gap: 7px;
  cursor: pointer;
  padding: 4px 12px 4px 9px; border-radius: 99px; border: 1px solid var(--line); color: var(--text);
  background: var(--card); max-width: 100%; overflow-wrap: anywhere; text-align: left;
}
.legend button[aria-pressed="false"] { color: var(--soft); background: none; opacity: .65; }
.legend svg { width: 22px; height: 10px; flex: none; }
details { margin-top: 8px; font-size: 13px; color: var(--soft); }
summary { cursor: pointer; width: fit-content; }
details div { overflow-x: auto; }
details table { margin-top: 6px; width: auto; }
details th, details td {
  padding: 2px 12px 2px 0; text-align: right; font-weight: 400; white-space: nowrap;
}
details th:first-child { text-align: left; }
.bar-head {
  display: flex; flex-wrap: wrap; align-items: center; gap: 8px 16px; margin-bottom: 4px;
}
.bar-head h2 { margin-right: auto; }
.bar-head label {
  font-size: 13px; color: var(--soft); display: inline-flex; gap: 6px; align-items: center;
}
select, input, .buttons button {
  font: inherit; font-size: 13px; color: var(--text); background: var(--card); min-height: 30px;
  border: 1px solid var(--line); border-radius: 7px; padding: 3px 8px; max-width: 100%;
  min-width: 0;
}
input { width: 9em; }
.buttons { display: inline-flex; gap: 4px; }
.buttons button { min-width: 32px; cursor: pointer; }
:is(select, input, button, canvas, summary, .scroll):focus-visible {
  outline: 2px solid var(--accent); outline-offset: 1px;
}
h3 { font-size: 13px; font-weight: 600; margin: 0 0 4px; }
.pair { display: grid; grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); gap: 24px; }
canvas { display: block; width: 100%; touch-action: pan-y; cursor: grab; border-radius: 4px; }
canvas.moving { cursor: grabbing; }
.key {
  display: flex; flex-wrap: wrap; gap: 4px 18px; font-size: 12.5px; color: var(--soft);
  margin: 0 0 8px;
}
.key i { display: inline-block; width: 11px; height: 11px; border-radius: 3px; margin-right: 6px; }
.key .met { background: var(--met); } .key .missed { background: var(--missed); }
.key .free { background: var(--free); }
.hint { margin: 8px 0 0; font-size: 12.5px; }
#tip {
  position: fixed; z-index: 9; pointer-events: none; background: var(--card); color: var(--text);
  border: 1px solid var(--line); border-radius: 8px; padding: 7px 11px; font-size: 12.5px;
  box-shadow: 0 4px 16px rgb(0 0 0 / .18); max-width: min(320px, 90vw); overflow-wrap: anywhere;
}
#tip[hidden] { display: none; }
#tip b { display: block; font-weight: 600; }
#tip div {
  display: flex; gap: 8px; justify-content: space-between; font-variant-numeric: tabular-nums;
}
#tip i { width: 9px; height: 9px; border-radius: 3px; flex: none; align-self: center; }
#tip span:nth-of-type(1) { margin-right: auto; color: var(--soft); }
@media (max-width: 820px) { .grid, .pair { grid-template-columns: minmax(0, 1fr); } }
@media (max-width: 640px) {
  .grid { gap: 14px; }
  .bar-head h2 { width: 100%; }
  .bar-head label { flex: 1 1 auto; }
  select, input, .buttons button { min-height: 36px; flex: 1 1 auto; font-size: 16px; }
  .legend { flex-wrap: nowrap; overflow-x: auto; }
  .legend button {
    flex: none; max-width: 60vw; white-space: nowrap; overflow: hidden; min-height: 34px;
  }
}
)css";

}  // namespace

std::string_view html_style_charts() { return kChartsStyle; }

}  // namespace rubato
