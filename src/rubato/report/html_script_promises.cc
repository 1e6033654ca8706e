// Script, part 5: promised against actual finish, histogram of the slack.
#include "rubato/report/html_assets.h"

namespace rubato {
namespace {

constexpr std::string_view kPromisesScript = R"js(
// The policy selectors of the two sections below move together.
let chosen = Math.max(0, data.runs.findIndex((run) => run.promised.some((at) => at >= 0)));
const choosers = [...document.querySelectorAll('.bar-head select')];
for (const chooser of choosers) {
  data.runs.forEach((run, index) => chooser.append(html('option', {value: index}, run.policy)));
  chooser.value = chosen;
  chooser.addEventListener('change', () => {
    chosen = Number(chooser.value);
    choosers.forEach((other) => { other.value = chosen; });
    paintAll();
  });
}

// [job, promised, slack] in seconds; positive slack is early. Unfinished jobs have none.
function promisesOf(run) {
  const list = [];
  run.promised.forEach((promised, job) => {
    if (promised >= 0) {
      const slack = run.finish[job] < 0 ? null : seconds(promised - run.finish[job]);
      list.push({job, promised: seconds(promised), slack});
    }
  });
  return list;
}

const isKept = (promise) => promise.slack !== null && promise.slack >= 0;
const promiseNote = document.querySelector('#promises .note');
const scatterBox = document.querySelector('#promises .scatter');
const slackBox = document.querySelector('#promises .slack');

function drawScatter(width) {
  const run = data.runs[chosen];
  const list = promisesOf(run);
  const kept = list.filter(isKept).length;
  promiseNote.textContent = list.length
    ? `${kept} of ${list.length} promises kept. Slack is how long before the promised moment a ` +
      'job finished; below zero (triangles) it was late.'
    : 'This policy makes no promises.';
  const done = list.filter((promise) => promise.slack !== null);
  if (!done.length) {
    scatterBox.replaceChildren(html('p', {class: 'none'}, 'Nothing to show.'));
    return;
  }
  const slacks = done.map((promise) => promise.slack);
  const high = Math.max(...slacks, 0) || 1;
  const low = Math.min(...slacks, 0);
  const room = (high - low) * 0.05;
  const ticks = linearTicks(low - room, high + room, 5, true);
  const last = Math.max(seconds(data.span), ...done.map((promise) => promise.promised));
  const chart = frame(scatterBox, `Slack of ${done.length} promises over time`, width,
    timeAxis(0, last, width), {low: low - room, high: high + room, ticks,
      labels: timeLabels(ticks).map((text) => text.replace(' min', 'm').replace(' ', ''))});
  chart.root.append(svg('line', {class: 'zero', x1: chart.inside.left, x2: chart.inside.right,
    y1: chart.sy(0), y2: chart.sy(0)}));
  // Broken ones last, so that none hides below a kept one.
  for (const promise of done.sort((a, b) => b.slack - a.slack)) {
    const dot = svg(isKept(promise) ? 'circle' : 'path', {
      class: `dot ${isKept(promise) ? 'kept' : 'broken'}`});
    const at = [chart.sx(promise.promised), chart.sy(promise.slack)];
    if (isKept(promise)) fill(dot, {cx: at[0], cy: at[1], r: 4}, []);
    else fill(dot, {d: `M${at[0]},${at[1] - 5}l5,9h-10z`}, []);
    dot.addEventListener('pointerenter', (event) => showTip(event, data.jobs.name[promise.job], [
      [null, 'promised', time(promise.promised)],
      [null, 'finished', moment(run.finish[promise.job])],
      [null, promise.slack < 0 ? 'late by' : 'early by', time(Math.abs(promise.slack))]]));
    dot.addEventListener('pointerleave', hideTip);
    chart.root.append(dot);
  }
}

function drawSlack(width) {
  const slacks = promisesOf(data.runs[chosen]).filter((promise) => promise.slack !== null)
    .map((promise) => promise.slack);
  if (!slacks.length) {
    slackBox.replaceChildren();
    return;
  }
  const step = niceStep(Math.max(...slacks, 0) - Math.min(...slacks, 0) || 1, 24, true);
  const first = Math.floor(Math.min(...slacks, 0) / step);
  const counts = Array(Math.floor(Math.max(...slacks, 0) / step) - first + 1).fill(0);
  slacks.forEach((slack) => { counts[Math.floor(slack / step) - first] += 1; });
  const most = Math.max(...counts);
  const yTicks = linearTicks(0, most, 4, false).filter((tick) => Number.isInteger(tick));
  const chart = frame(slackBox, 'Histogram of the slack', width,
    timeAxis(first * step, (first + counts.length) * step, width),
    {low: 0, high: most, ticks: yTicks, labels: yTicks.map(String)});
  counts.forEach((count, index) => {
    const from = (first + index) * step;
    const left = chart.sx(from) + 1;
    const bar = svg('rect', {class: from < 0 ? 'broken' : 'kept', x: left, rx: 2,
      y: chart.sy(count), height: chart.inside.bottom - chart.sy(count),
      width: Math.max(1, chart.sx(from + step) - left)});
    bar.addEventListener('pointermove', (event) => showTip(event,
      `${time(from)} to ${time(from + step)} ${from < 0 ? 'late' : 'early'}`,
      [[null, 'jobs', String(count)]]));
    bar.addEventListener('pointerleave', hideTip);
    chart.root.append(bar);
  });
  chart.root.append(svg('line', {class: 'zero', x1: chart.sx(0), x2: chart.sx(0),
    y1: chart.inside.top, y2: chart.inside.bottom}));
}

if (data.runs.some((run) => run.promised.some((at) => at >= 0))) {
  paint(scatterBox, drawScatter);
  paint(slackBox, drawSlack);
} else {
  document.getElementById('promises').remove();
}
)js";

}  // namespace

std::string_view html_script_promises() { return kPromisesScript; }

}  // namespace rubato
