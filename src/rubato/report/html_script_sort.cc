// Script, part 3: sorting of the comparison, within each of its groups.
#include "rubato/report/html_assets.h"

namespace rubato {
namespace {

constexpr std::string_view kSortScript = R"js(
const comparison = document.getElementById('comparison');
function sortBy(column, order) {
  const sign = order === 'ascending' ? 1 : -1;
  const value = (row) => (row.children[column] || {dataset: {}}).dataset.value || '';
  // What is not known goes last in both orders.
  const isKnown = (row) => !column || value(row) !== '';
  const compare = (a, b) => (column
    ? value(a) - value(b)
    : a.children[0].textContent.localeCompare(b.children[0].textContent));
  for (const body of comparison.tBodies) {
    const rows = [...body.rows].filter((row) => row.dataset.row).sort((a, b) =>
      isKnown(b) - isKnown(a) || sign * compare(a, b) || a.dataset.row - b.dataset.row);
    body.append(...rows);
  }
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
)js";

}  // namespace

std::string_view html_script_sort() { return kSortScript; }

}  // namespace rubato
