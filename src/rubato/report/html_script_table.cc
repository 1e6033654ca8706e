// Script, part 4: colours of the comparison, legend that shows and hides policies.
#include "rubato/report/html_assets.h"

namespace rubato {
namespace {

constexpr std::string_view kTableScript = R"js(
data.runs.forEach((run, index) => {
  const row = comparison.querySelector(`tr[data-row="${run.row}"] .swatch`);
  if (row) row.style.background = colour(index);
});

const legend = document.getElementById('legend');
data.runs.forEach((run, index) => {
  const sample = svg('svg', {viewBox: '0 0 22 10', 'aria-hidden': 'true'},
    svg('line', {x1: 0, x2: 22, y1: 5, y2: 5, stroke: colour(index), 'stroke-width': 3,
      'stroke-dasharray': dash(index)}));
  const button = html('button', {type: 'button', 'aria-pressed': 'true',
    title: 'Show or hide in the charts'}, sample, run.policy);
  button.addEventListener('click', () => {
    if (!hidden.delete(index)) hidden.add(index);
    button.setAttribute('aria-pressed', String(!hidden.has(index)));
    paintAll();
  });
  legend.append(button);
});
)js";

}  // namespace

std::string_view html_script_table() { return kTableScript; }

}  // namespace rubato
