// Script, part 3: sorting of the comparison, legend that shows and hides policies.
#include "rubato/report/html_assets.h"

namespace rubato {
namespace {

constexpr std::string_view kScript = R"js(
const comparison = document.getElementById('comparison');
data.runs.forEach((run, index) => {
  const row = comparison.querySelector(`tr[data-row="${run.row}"] .swatch`);
  if (row) row.style.background = colour(index);
});

function sortBy(column, order) {
  const sign = order === 'ascending' ? 1 : -1;
  // What is not known goes last in both orders.
  const isKnown = (row) => !column || row.children[column].dataset.value !== '';
  const compare = (a, b) => (column
    ? a.children[column].dataset.value - b.children[column].dataset.value
    : a.children[0].textContent.localeCompare(b.children[0].textContent));
  const rows = [...comparison.tBodies[0].rows].sort((a, b) =>
    isKnown(b) - isKnown(a) || sign * compare(a, b) || a.dataset.row - b.dataset.row);
  comparison.tBodies[0].append(...rows);
}
const heads = [...comparison.tHead.rows[0].cells];
heads.forEach((head, column) => {
  const button = head.querySelector('button');
  button.addEventListener('click', () => {
    const before = head.getAttribute('aria-sort');
    const other = before === 'ascending' ? 'descending' : 'ascending';
    const order = before ? other : button.dataset.first;
    heads.forEach((each) => each.removeAttribute('aria-sort'));
    head.setAttribute('aria-sort', order);
    sortBy(column, order);
  });
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

std::string_view html_script_table() { return kScript; }

}  // namespace rubato
