// Colours, page and comparison table. Colours of policies (--s0 to --s7) can be told apart by
// people with any kind of colour vision, on light and on dark ground.
#include "rubato/report/html_assets.h"

namespace rubato {
namespace {

constexpr std::string_view kStyle = R"css(
:root {
  --ground: #f6f6f4; --card: #ffffff; --line: #e3e3df; --text: #1d2126; --soft: #62686f;
  --accent: #0a62b9; --met: #2f78bd; --missed: #d95f0e; --free: #a3a8ad; --shade: #eef3f9;
  --s0: #0a62b9; --s1: #d4570a; --s2: #0b8468; --s3: #b03a8e;
  --s4: #8a6b00; --s5: #5a4fcf; --s6: #4a4f57; --s7: #a3262a;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #14161a; --card: #1c1f24; --line: #31363d; --text: #e8eaed; --soft: #a2a9b1;
    --accent: #6cb2ff; --met: #4f9be6; --missed: #f08a3c; --free: #767d86; --shade: #222a35;
    --s0: #5aa9ff; --s1: #ff9a4d; --s2: #3fcfa8; --s3: #f08fd0;
    --s4: #e0c04a; --s5: #a99cff; --s6: #c3c8d0; --s7: #ff8080;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--ground); color: var(--text);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans",
    sans-serif;
}
main { max-width: 1280px; margin: 0 auto; padding: 32px 24px 64px; }
h1 {
  font-size: 28px; line-height: 1.2; margin: 0 0 16px; font-weight: 650; letter-spacing: -.01em;
}
h2 { font-size: 16px; margin: 0; font-weight: 650; }
p { margin: 2px 0 12px; color: var(--soft); font-size: 13.5px; }
.brand {
  margin: 0 0 4px; color: var(--accent); font-weight: 650; font-size: 13px;
  letter-spacing: .08em; text-transform: uppercase;
}
.facts { display: flex; flex-wrap: wrap; gap: 8px 28px; margin: 0 0 16px; }
.facts dt { font-size: 12px; color: var(--soft); }
.facts dd { margin: 0; font-weight: 550; overflow-wrap: anywhere; }
.command {
  margin: 0 0 10px; padding: 10px 14px; background: var(--card); border: 1px solid var(--line);
  border-radius: 8px; font-size: 12.5px; overflow-x: auto; white-space: pre-wrap;
  overflow-wrap: anywhere;
}
code { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.provenance { margin: 0; font-size: 12.5px; }
.card {
  background: var(--card); border: 1px solid var(--line); border-radius: 12px;
  padding: 18px 20px; margin: 20px 0 0; min-width: 0;
}
.sr { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
/* The shadow at the right edge shows that the table goes on there. */
.scroll {
  overflow-x: auto; margin: 0 -20px -18px; border-radius: 0 0 12px 12px;
  background:
    linear-gradient(to left, var(--card) 40%, transparent) right / 48px 100% no-repeat local,
    linear-gradient(to left, rgb(0 0 0 / .16), transparent) right / 16px 100% no-repeat scroll;
}
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
#comparison { font-size: 13.5px; }
#comparison th, #comparison td {
  padding: 8px 9px; text-align: right; white-space: nowrap; border-top: 1px solid var(--line);
}
#comparison thead th { border-top: 0; padding: 0; vertical-align: bottom; }
#comparison thead button {
  all: unset; box-sizing: border-box; display: block; width: 100%; padding: 8px 9px;
  cursor: pointer; font-size: 12.5px; color: var(--soft); line-height: 1.35;
}
#comparison thead button:hover { color: var(--text); }
#comparison thead button:focus-visible { outline: 2px solid var(--accent); outline-offset: -2px; }
#comparison .group, #comparison .title { display: block; min-height: 1.35em; }
#comparison .group { font-weight: 600; color: var(--text); }
#comparison thead i { font-style: normal; }
#comparison thead [aria-sort] .title::after { color: var(--accent); }
#comparison thead [aria-sort="ascending"] .title::after { content: " ▲"; }
#comparison thead [aria-sort="descending"] .title::after { content: " ▼"; }
#comparison tr > :first-child {
  position: sticky; left: 0; background: var(--card); text-align: left; padding-left: 20px;
  z-index: 1;
  max-width: 15em; overflow: hidden; text-overflow: ellipsis;
}
#comparison thead tr > :first-child { padding-left: 10px; }
#comparison tr > :last-child { padding-right: 20px; }
#comparison tbody th { font-weight: 550; }
#comparison tbody tr:hover > * { background: var(--shade); }
#comparison .best { font-weight: 700; color: var(--accent); }
#comparison small { font-size: 11.5px; color: var(--soft); font-weight: 400; }
#comparison .bar {
  display: block; height: 3px; margin-top: 3px; border-radius: 2px; background: var(--line);
  min-width: 44px; overflow: hidden;
}
#comparison .bar s { display: block; height: 100%; background: var(--soft); opacity: .65; }
#comparison .best .bar s { background: var(--accent); opacity: 1; }
.swatch {
  display: inline-block; width: 10px; height: 10px; border-radius: 3px; margin-right: 8px;
  background: var(--line);
}
@media (max-width: 640px) {
  main { padding: 20px 12px 40px; }
  h1 { font-size: 23px; }
  .card { padding: 14px; margin-top: 14px; border-radius: 10px; }
  .scroll { margin: 0 -14px -14px; }
  #comparison tr > :first-child { padding-left: 14px; max-width: 9.5em; }
  #comparison thead tr > :first-child { padding-left: 4px; }
}
@media print { .card { break-inside: avoid; } .hint, .buttons, label { display: none; } }
)css";

}  // namespace

std::string_view html_style() { return kStyle; }

}  // namespace rubato
