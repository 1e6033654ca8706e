// Script, part 1: data, elements, numbers and times as text, tooltip.
#include "rubato/report/html_assets.h"

namespace rubato {
namespace {

constexpr std::string_view kBaseScript = R"js(
const data = JSON.parse(document.getElementById('data').textContent);
const spaceName = document.getElementById('ns').namespaceURI;
const hidden = new Set();  // Indices of runs that the legend has switched off.
const painters = [];       // Everything to be drawn again when the width changes.

// Elements. Text only ever gets in as text, so no name can become markup.
function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
  for (const child of children) node.append(child);
  return node;
}
const html = (tag, attributes, ...children) =>
  fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS(spaceName, tag), attributes, children);

const colour = (run) => `var(--s${data.runs[run].row % 8})`;
const dashes = ['', '', '', '', '7 3', '7 3', '3 3', '3 3'];
const dash = (run) => dashes[data.runs[run].row % 8];
const shown = () => data.runs.map((_, index) => index).filter((index) => !hidden.has(index));

// Numbers and times.
const units = [[86400, 'd', 2 * 86400], [3600, 'h', 3600], [60, 'min', 60], [1, 's', 1],
  [1e-3, 'ms', 1e-3]];
function digits(value) {
  const size = Math.abs(value);
  return String(+value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2));
}
function time(seconds) {
  if (!seconds) return '0 s';
  const size = Math.abs(seconds);
  const unit = units.find((entry) => size >= entry[2]) || units[units.length - 1];
  return `${digits(seconds / unit[0])} ${unit[1]}`;
}
const percent = (share) => `${digits(share * 100)}%`;
const seconds = (ticks) => ticks * data.tick;
// A moment since the start, to the minute or finer where the run is short.
const moment = (ticks) => (ticks < 0 ? 'never' : time(seconds(ticks)));

// Tooltip: a title and rows of [colour or null, name, value].
const tip = document.getElementById('tip');
function showTip(event, title, rows) {
  tip.replaceChildren(html('b', {}, title));
  for (const [mark, name, value] of rows) {
    const row = html('div', {}, html('span', {}, name), html('span', {}, value));
    if (mark) row.prepend(html('i', {style: `background:${mark}`}));
    tip.append(row);
  }
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const right = event.clientX + 16 + box.width > innerWidth;
  const left = right ? event.clientX - 16 - box.width : event.clientX + 16;
  const top = Math.min(event.clientY + 12, innerHeight - box.height - 8);
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${Math.max(8, top)}px`;
}
function hideTip() { tip.hidden = true; }
addEventListener('scroll', hideTip, {passive: true});

// Draws now and whenever the width of `box` changes.
function paint(box, draw) {
  let width = 0;
  const again = () => draw(Math.max(240, box.clientWidth));
  painters.push(again);
  // In the next frame: drawing changes sizes, which would wake the observer while it reports.
  new ResizeObserver(() => requestAnimationFrame(() => {
    if (box.clientWidth !== width) {
      width = box.clientWidth;
      again();
    }
  })).observe(box);
}
const paintAll = () => painters.forEach((draw) => draw());

// The numbers behind a picture, for those who cannot or do not want to see it.
function numbers(head, rows) {
  const line = (cells) => html('tr', {}, ...cells.map((cell, index) =>
    html(index ? 'td' : 'th', index ? {} : {scope: 'row'}, cell)));
  return html('details', {}, html('summary', {}, 'Numbers'),
    html('div', {}, html('table', {}, line(head), ...rows.map(line))));
}
)js";

}  // namespace

std::string_view html_script_base() { return kBaseScript; }

}  // namespace rubato
