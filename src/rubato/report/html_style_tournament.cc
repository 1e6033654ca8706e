// What only the report of a tournament has: bands between groups, grey cells, bars.
#include "rubato/report/html_assets.h"

namespace rubato {
namespace {

constexpr std::string_view kTournamentStyle = R"css(
#comparison .swatch { display: none; }
#comparison .band th {
  padding: 0; background: var(--shade); text-align: left; max-width: none; overflow: visible;
  border-top: 1px solid var(--line);
}
#comparison .band span {
  position: sticky; left: 0; display: inline-block; padding: 7px 20px; font-weight: 600;
  white-space: normal; max-width: min(90vw, 1200px);
}
#comparison .apart { color: var(--soft); font-style: italic; }
#comparison .failure { text-align: left; color: var(--missed); white-space: normal; }
#comparison .bar { min-width: 40px; }
.grid figure { margin: 0; }
.plot .name { fill: var(--text); font-size: 11.5px; }
.plot .front { fill: var(--accent); } .plot .behind { fill: var(--soft); }
.plot .hollow { fill: var(--card); stroke: var(--soft); }
.plot .edge { fill: none; stroke: var(--accent); stroke-width: 1.5; opacity: .5; }
.plot .whisker { stroke: var(--text); stroke-width: 1; opacity: .6; }
@media (max-width: 640px) { #comparison .band span { padding: 6px 14px; } }
)css";

}  // namespace

std::string_view html_style_tournament() { return kTournamentStyle; }

}  // namespace rubato
