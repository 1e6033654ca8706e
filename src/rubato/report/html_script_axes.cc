// Script, part 2: axes: scales, ticks, the frame of a chart.
#include "rubato/report/html_assets.h"

namespace rubato {
namespace {

constexpr std::string_view kAxesScript = R"js(
const timeSteps = [.001, .01, .1, .5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200,
  10800, 21600, 43200, 86400, 172800, 432000, 864000, 1728000, 4320000, 8640000, 31536000];
const logTimes = [.001, .01, .1, 1, 10, 60, 600, 3600, 36000, 345600, 864000, 8640000, 86400000];

// Round steps for `span`, about `wanted` of them.
function niceStep(span, wanted, isTime) {
  if (isTime) return timeSteps.find((step) => span / step <= wanted) || span;
  const rough = span / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough);
}
function linearTicks(low, high, wanted, isTime) {
  const step = niceStep(high - low || 1, wanted, isTime);
  const ticks = [];
  for (let index = Math.ceil(low / step - 1e-9); index * step <= high * (1 + 1e-9); ++index) {
    ticks.push(+(index * step).toPrecision(12));
  }
  return ticks;
}
function logTicks(low, high, isTime) {
  if (isTime) return logTimes.filter((tick) => tick >= low && tick <= high);
  const ticks = [];
  const factors = high / low > 2000 ? [1] : [1, 2, 5];
  for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10) {
    ticks.push(...factors.map((factor) => +(factor * power).toPrecision(12)));
  }
  return ticks.filter((tick) => tick >= low && tick <= high);
}

// A scale maps data to pixels and back.
function linear(low, high, from, to) {
  const scale = (value) => from + ((value - low) / (high - low || 1)) * (to - from);
  scale.back = (pixel) => low + ((pixel - from) / (to - from)) * (high - low);
  return scale;
}
function logarithmic(low, high, from, to) {
  const inner = linear(Math.log(low), Math.log(high), from, to);
  const scale = (value) => inner(Math.log(Math.max(value, low)));
  scale.back = (pixel) => Math.exp(inner.back(pixel));
  return scale;
}

// All ticks of a time axis in one unit, which they divide into halves at the finest.
function timeLabels(ticks) {
  const largest = Math.max(...ticks.map(Math.abs), 0);
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : largest;
  const isRound = (size) => Math.abs(step / size * 2 - Math.round(step / size * 2)) < 1e-6;
  const unit = units.find((entry) => largest >= entry[2] && isRound(entry[0])) ||
    units[units.length - 1];
  return ticks.map((tick) => (tick === 0 ? '0' : `${digits(tick / unit[0])} ${unit[1]}`));
}

// An empty chart with grid and labels; `x` and `y` are {low, high, log, ticks, labels}.
function frame(box, label, width, x, y) {
  const height = Math.round(Math.min(300, Math.max(210, width * 0.5)));
  const inside = {left: 44, right: width - 14, top: 10, bottom: height - 26};
  const make = (axis, from, to) => (axis.log ? logarithmic : linear)(axis.low, axis.high, from, to);
  const sx = make(x, inside.left, inside.right);
  const sy = make(y, inside.bottom, inside.top);
  const root = svg('svg', {viewBox: `0 0 ${width} ${height}`, height, role: 'img',
    'aria-label': label});
  y.ticks.forEach((tick, index) => {
    root.append(svg('line', {class: 'axis', x1: inside.left, x2: inside.right, y1: sy(tick),
      y2: sy(tick)}));
    root.append(svg('text', {x: inside.left - 8, y: sy(tick) + 4, 'text-anchor': 'end'},
      y.labels[index]));
  });
  let taken = -Infinity;
  x.ticks.forEach((tick, index) => {
    const room = x.labels[index].length * 3.4 + 6;
    const at = Math.min(sx(tick), width - room + 4);
    if (sx(tick) - room < taken) return;
    taken = sx(tick) + room;
    root.append(svg('line', {class: 'axis', x1: sx(tick), x2: sx(tick), y1: inside.top,
      y2: inside.bottom}));
    root.append(svg('text', {x: at, y: height - 8, 'text-anchor': 'middle'}, x.labels[index]));
  });
  box.replaceChildren(root);
  return {root, sx, sy, inside};
}
const percentAxis = {low: 0, high: 1, ticks: [0, .25, .5, .75, 1],
  labels: ['0', '25%', '50%', '75%', '100%']};
function timeAxis(low, high, width) {
  const ticks = linearTicks(low, high, Math.max(3, Math.floor(width / 72)), true);
  return {low, high, ticks, labels: timeLabels(ticks)};
}
)js";

}  // namespace

std::string_view html_script_axes() { return kAxesScript; }

}  // namespace rubato
