// Script, part 4: lines: distributions, use and deadlines over time.
#include "rubato/report/html_assets.h"

namespace rubato {
namespace {

constexpr std::string_view kLinesScript = R"js(
// The index of the last x that is not beyond `value`, or -1.
function lastNotAbove(xs, value) {
  let low = 0;
  let high = xs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] <= value) low = middle + 1; else high = middle;
  }
  return low - 1;
}

// A path through the points; steps go right first, then up.
function path(xs, ys, sx, sy, isStep) {
  let text = '';
  xs.forEach((x, index) => {
    const at = `${sx(x).toFixed(1)},${sy(ys[index]).toFixed(1)}`;
    if (!index) text = `M${at}`;
    else text += isStep ? `H${sx(x).toFixed(1)}V${sy(ys[index]).toFixed(1)}` : `L${at}`;
  });
  return text;
}

// Lines, and under the pointer the value of each at that x. `lines` is [{run, xs, ys}].
function drawLines(chart, lines, isStep, describe) {
  const {root, sx, sy, inside} = chart;
  for (const {run, xs, ys} of lines) {
    root.append(svg('path', {class: 'line', d: path(xs, ys, sx, sy, isStep),
      style: `stroke:${colour(run)}`, 'stroke-dasharray': dash(run)}));
  }
  const cross = svg('line', {class: 'cross', y1: inside.top, y2: inside.bottom,
    visibility: 'hidden'});
  root.append(cross);
  root.addEventListener('pointermove', (event) => {
    const box = root.getBoundingClientRect();
    const pixel = Math.min(inside.right, Math.max(inside.left, event.clientX - box.left));
    cross.setAttribute('x1', pixel);
    cross.setAttribute('x2', pixel);
    cross.setAttribute('visibility', 'visible');
    const {title, rows} = describe(sx.back(pixel));
    showTip(event, title, rows);
  });
  root.addEventListener('pointerleave', () => {
    cross.setAttribute('visibility', 'hidden');
    hideTip();
  });
}

// The highest first; the fourth entry of a row is its number.
const sortedRows = (entries) =>
  entries.sort((a, b) => b[3] - a[3]).map((entry) => entry.slice(0, 3));

function distribution(id, show, isTime) {
  const figure = document.getElementById(id);
  const box = figure.querySelector('.plot');
  const all = data.runs.flatMap((run) => run[id][0]).filter((value) => value > 0);
  if (!all.length) {
    box.replaceChildren(html('p', {class: 'none'}, 'No job finished.'));
    return;
  }
  const low = all.reduce((a, b) => Math.min(a, b)) / 1.1;
  const high = all.reduce((a, b) => Math.max(a, b)) * 1.1;
  const ticks = logTicks(low, high, isTime);
  const axis = {low, high, log: true, ticks, labels: ticks.map(show)};
  const shareAt = (run, value) => {
    const index = lastNotAbove(data.runs[run][id][0], value);
    return index < 0 ? 0 : data.runs[run][id][1][index];
  };
  paint(box, (width) => {
    const label = figure.querySelector('h2').textContent + ', cumulative distribution';
    const chart = frame(box, label, width, axis, percentAxis);
    const lines = shown().map((run) => {
      const [xs, ys] = data.runs[run][id];
      return {run, xs: [xs[0], ...xs, high], ys: [0, ...ys, 1]};
    });
    drawLines(chart, lines.filter(({xs}) => xs.length > 2), true, (value) => ({
      title: `within ${show(value)}`,
      rows: sortedRows(shown().map((run) => [colour(run), data.runs[run].policy,
        percent(shareAt(run, value)), shareAt(run, value)])),
    }));
  });
  const shares = [.1, .25, .5, .75, .9, .99, 1];
  const at = (run, share) => {
    const [xs, ys] = data.runs[run][id];
    const index = ys.findIndex((y) => y >= share - 5e-4);
    return index < 0 ? '-' : show(xs[index]);
  };
  figure.append(numbers(['', ...shares.map(percent)],
    data.runs.map((run, index) => [run.policy, ...shares.map((share) => at(index, share))])));
}
distribution('jct', time, true);
distribution('slowdown', (value) => `${digits(value)}×`, false);

// A quantity in each bin of time; `valueAt(run, bin)` is a share, `words` its text.
function overTime(id, count, valueAt, words) {
  const figure = document.getElementById(id);
  const box = figure.querySelector('.plot');
  const bins = Math.max(...data.runs.map(count));
  const bin = seconds(data.span) / (bins || 1);
  const line = (run) => {
    const xs = [];
    const ys = [];
    for (let index = 0; index < count(data.runs[run]); ++index) {
      const value = valueAt(data.runs[run], index);
      if (value !== null) {
        xs.push((index + 1) * bin);
        ys.push(value);
      }
    }
    return {run, xs, ys};
  };
  paint(box, (width) => {
    const label = `${figure.querySelector('h2').textContent} over time`;
    const chart = frame(box, label, width, timeAxis(0, seconds(data.span), width), percentAxis);
    drawLines(chart, shown().map(line), false, (value) => {
      const index = Math.max(0, Math.min(bins - 1, Math.floor(value / bin)));
      return {title: `after ${time(value)}`, rows: sortedRows(shown().map((run) => {
        const at = index < count(data.runs[run]) ? valueAt(data.runs[run], index) : null;
        return [colour(run), data.runs[run].policy,
          at === null ? '-' : words(data.runs[run], index, at), at === null ? -1 : at];
      }))};
    });
  });
  const parts = [.1, .25, .5, .75, 1];
  figure.append(numbers(['after', ...parts.map((part) => time(part * seconds(data.span)))],
    data.runs.map((run) => [run.policy, ...parts.map((part) => {
      const index = Math.max(0, Math.round(part * bins) - 1);
      const at = index < count(run) ? valueAt(run, index) : null;
      return at === null ? '-' : percent(at);
    })])));
}
overTime('used', (run) => run.used.length, (run, bin) => run.used[bin] / 1000,
  (run, bin, share) => percent(share));
if (data.runs.some((run) => run.due[run.due.length - 1] > 0)) {
  overTime('deadlines', (run) => run.met.length,
    (run, bin) => (run.due[bin] ? run.met[bin] / run.due[bin] : null),
    (run, bin, share) => `${percent(share)} (${run.met[bin]} of ${run.due[bin]})`);
} else {
  document.querySelector('#deadlines .plot').replaceChildren(
    html('p', {class: 'none'}, 'No job has a deadline.'));
}
)js";

}  // namespace

std::string_view html_script_lines() { return kLinesScript; }

}  // namespace rubato
