// Script of a tournament: which trace, two aims against each other, one aim as bars.
#include "rubato/report/html_assets.h"

namespace rubato {
namespace {

constexpr std::string_view kTournamentScript = R"js(
const traces = [...new Set(data.groups.map((group) => group.trace))];
let picked = traces[traces.length - 1];  // The last one is over all, if there are several.
const noises = [...new Set(data.groups.map((group) => group.noise))];
const noiseName = (noise) => (noise ? `speeds off by ${digits(noise * 100)}%` : 'exact speeds');
const groupOf = (noise) =>
  data.groups.find((group) => group.trace === picked && group.noise === noise);
const columnAt = (name) => data.columns.findIndex((column) => column.name.trim() === name);
const cellOf = (row, column) => (row ? row.cells[column] : null);

// Which trace: its groups of the table, and its pictures.
const pick = document.querySelector('#pick select');
function choose(trace) {
  picked = trace;
  [...comparison.tBodies].forEach((body, index) => {
    body.hidden = data.groups[index].trace !== trace;
  });
  paintAll();
}
[...traces].reverse().forEach((trace) => pick.append(html('option', {}, trace)));
pick.addEventListener('change', () => choose(traces[traces.length - 1 - pick.selectedIndex]));
document.getElementById('pick').hidden = traces.length < 2;

// Two aims: mean JCT to the right, the first of these that there is upwards.
const wished = ['deadlines met', 'value got', 'rho fair'].map(columnAt);
const up = wished.find((column) => column >= 0);
const right = columnAt('JCT avg');
function pointsOf(group) {
  const points = group.rows.filter((row) => cellOf(row, right) && cellOf(row, up)).map((row) => ({
    policy: row.policy, x: cellOf(row, right)[0], y: cellOf(row, up)[0],
    texts: [cellOf(row, right)[2], cellOf(row, up)[2]], comparable: cellOf(row, right)[3]}));
  for (const point of points) {
    point.front = point.comparable && !points.some((other) => other.comparable &&
      other.x <= point.x && other.y >= point.y && (other.x < point.x || other.y > point.y));
  }
  return points;
}
// A place for a name beside its dot where no other name stands; null if there is none.
function nameBox(point, taken, inside) {
  const width = point.policy.length * 6.3;
  const spots = [[8, 4], [-8 - width, 4], [-width / 2, -9], [-width / 2, 17]];
  for (const [dx, dy] of spots) {
    const box = {left: point.px + dx, right: point.px + dx + width, top: point.py + dy - 10,
      bottom: point.py + dy + 3, x: point.px + dx, y: point.py + dy};
    const isIn = box.left >= inside.left && box.right <= inside.right + 12 && box.top >= 0;
    if (isIn && !taken.some((other) => box.left < other.right && box.right > other.left &&
      box.top < other.bottom && box.bottom > other.top)) return box;
  }
  return null;
}
const scatter = document.getElementById('scatter');
function drawScatter(width) {
  const box = scatter.querySelector('.plot');
  const group = groupOf(noises[0]);
  const points = group ? pointsOf(group) : [];
  const unit = group && group.relative ? 'over the best' : 'mean';
  scatter.querySelector('.note').textContent =
    `${data.columns[up].name} against JCT (${unit}), ${noiseName(noises[0])}: ` +
    'up and left is better. In colour: no policy is better in both. ' +
    'Hollow: finished far fewer jobs than others, so its JCT is not compared.';
  if (!points.length) { box.replaceChildren('No policy has both numbers.'); return; }
  const xs = points.map((point) => point.x);
  const low = Math.min(...xs) / 1.15;
  const high = Math.max(...xs) * 1.15;
  const ticks = logTicks(low, high, !group.relative);
  const fewer = ticks.length > 1 ? ticks : [Math.min(...xs), Math.max(...xs)];
  const label = (tick) => (group.relative ? `${digits(tick)}x` : time(tick));
  const {root, sx, sy, inside} = frame(box, 'Two aims', width,
    {low, high, log: true, ticks: fewer, labels: fewer.map(label)}, percentAxis);
  const taken = [];
  points.forEach((point) => { point.px = sx(point.x); point.py = sy(point.y); });
  points.sort((a, b) => b.front - a.front || a.x - b.x);
  const front = points.filter((point) => point.front);
  root.append(svg('polyline', {class: 'edge',
    points: front.map((point) => `${point.px},${point.py}`).join(' ')}));
  for (const point of points) {
    taken.push({left: point.px - 5, right: point.px + 5, top: point.py - 5, bottom: point.py + 5});
  }
  for (const point of points) {
    const look = point.front ? 'front' : point.comparable ? 'behind' : 'hollow';
    const dot = svg('circle', {class: `dot ${look}`, cx: point.px, cy: point.py, r: 5});
    const show = (event) => showTip(event, point.policy,
      [[null, data.columns[up].name, percent(point.y)],
        [null, 'JCT', group.relative ? point.texts[0] : time(point.x)]]);
    dot.addEventListener('pointermove', show);
    dot.addEventListener('pointerleave', hideTip);
    root.append(dot);
    const name = nameBox(point, taken, inside);
    if (name) {
      taken.push(name);
      root.append(svg('text', {class: 'name', x: name.x, y: name.y}, point.policy));
    }
  }
}
paint(scatter.querySelector('.plot'), drawScatter);

// One aim: a bar for each policy, exact and noisy speeds beside each other.
const bars = document.getElementById('bars');
const aim = bars.querySelector('select');
data.columns.forEach((column, index) => aim.append(html('option', {value: index}, column.name)));
aim.value = String(up);
function seriesOf(column) {
  return noises.map((noise) => ({noise, group: groupOf(noise)})).filter((each) => each.group)
    .map(({noise, group}) => ({noise, of: new Map(group.rows.map((row) =>
      [row.policy, cellOf(row, column)]))}));
}
function drawBars(width) {
  const column = Number(aim.value);
  const {better, meaning} = data.columns[column];
  const series = seriesOf(column);
  const policies = series.length ? [...series[0].of.keys()] : [];
  const first = (policy) => (series[0].of.get(policy) || [NaN])[0];
  policies.sort((a, b) => (better > 0 ? first(b) - first(a) : first(a) - first(b)) || 0);
  bars.querySelector('.note').textContent =
    `${meaning} ${better > 0 ? 'More is better.' : better < 0 ? 'Less is better.' : ''}`;
  const left = Math.min(150, Math.max(...policies.map((policy) => policy.length), 4) * 6.6 + 8);
  const right = width - 62;
  const thick = 13;
  const step = thick * series.length + 8;
  const all = series.flatMap((each) => [...each.of.values()].filter(Boolean));
  const most = Math.max(...all.map((cell) => cell[0]), 0) || 1;
  const scale = linear(0, most, left, right);
  const top = series.length > 1 ? 20 : 4;
  const height = top + policies.length * step + 4;
  const root = svg('svg', {viewBox: `0 0 ${width} ${height}`, height, role: 'img',
    'aria-label': data.columns[column].name});
  if (series.length > 1) {
    series.forEach((each, index) => {
      const x = 2 + index * Math.min(150, width / series.length);
      root.append(svg('rect', {x, y: 3, width: 10, height: 10, rx: 3, fill: `var(--s${index})`}),
        svg('text', {x: x + 15, y: 12}, noiseName(each.noise)));
    });
  }
  policies.forEach((policy, row) => {
    const y = top + row * step;
    root.append(svg('text', {class: 'name', x: left - 6, y: y + step / 2 + 1,
      'text-anchor': 'end'}, policy.length > 21 ? `${policy.slice(0, 20)}…` : policy));
    series.forEach((each, index) => {
      const cell = each.of.get(policy);
      const at = y + 3 + index * thick;
      if (!cell) {
        root.append(svg('text', {x: left + 4, y: at + 8}, '-'));
        return;
      }
      const [value, half, text, comparable] = cell;
      root.append(svg('rect', {x: left, y: at, width: Math.max(1, scale(value) - left), height: 10,
        rx: 2, fill: `var(--s${index})`, opacity: comparable ? 1 : .35}));
      if (half > 0) {
        const ends = [Math.max(0, value - half), Math.min(value + half, most * 1.05)].map(scale);
        root.append(svg('line', {class: 'whisker', x1: ends[0], x2: ends[1], y1: at + 5,
          y2: at + 5}));
      }
      const end = half > 0 ? Math.max(scale(value), scale(Math.min(value + half, most * 1.05)))
        : scale(value);
      root.append(svg('text', {x: end + 5, y: at + 9}, text));
    });
  });
  bars.querySelector('.plot').replaceChildren(root);
}
aim.addEventListener('change', () => paintAll());
paint(bars.querySelector('.plot'), drawBars);
choose(picked);
)js";

}  // namespace

std::string_view html_script_tournament() { return kTournamentScript; }

}  // namespace rubato
