// Script, part 6: who held which GPU when, on a canvas.
#include "rubato/report/html_assets.h"

namespace rubato {
namespace {

constexpr std::string_view kGanttScript = R"js(
const gantt = document.getElementById('gantt');
const canvas = gantt.querySelector('canvas');
const paper = canvas.getContext('2d');
let labelRoom = 84;  // Less on narrow screens, where only the numbers of the nodes fit.
const axisRoom = 24;
const whole = {x0: 0, x1: Math.max(1, data.span), y0: 0, y1: Math.max(1, data.gpus)};
const view = {...whole};
let marked = -1;  // The job under the pointer or found by name.

// [job, from - previous from, length, first, count, ...] to absolute numbers.
const rectsOf = data.runs.map((run) => {
  const rects = Int32Array.from(run.rects);
  for (let at = 5; at < rects.length; at += 5) rects[at + 1] += rects[at - 4];
  return rects;
});

function statusOf(run, job) {
  const deadline = data.jobs.deadline[job];
  if (deadline === undefined || deadline < 0 || data.jobs.class[job] === 2) return 'free';
  return run.finish[job] >= 0 && run.finish[job] <= deadline ? 'met' : 'missed';
}

// Neighbouring jobs of one status differ in shade. [fill, colour of text on it].
function shadesOf(name) {
  const style = getComputedStyle(document.documentElement);
  const base = style.getPropertyValue(`--${name}`).trim();
  const channel = (at) => parseInt(base.slice(at, at + 2), 16);
  return [-0.24, -0.12, 0, 0.14, 0.28].map((part) => {
    const [red, green, blue] = [1, 3, 5].map((at) =>
      Math.round(channel(at) + (part < 0 ? channel(at) : 255 - channel(at)) * part));
    const light = 0.3 * red + 0.59 * green + 0.11 * blue;
    return [`rgb(${red},${green},${blue})`, light > 140 ? '#101418' : '#ffffff'];
  });
}

const scales = () => ({
  sx: linear(view.x0, view.x1, labelRoom, canvas.clientWidth),
  sy: linear(view.y0, view.y1, 0, canvas.clientHeight - axisRoom),
});

function drawLanes(ink, soft, sy, width, bottom) {
  paper.font = `11px ${getComputedStyle(document.body).fontFamily}`;
  paper.textBaseline = 'middle';
  let taken = -Infinity;
  for (const [name, first, gpus] of data.nodes) {
    const top = sy(first);
    const middle = sy(first + gpus / 2);
    if (top > bottom || sy(first + gpus) < 0) continue;
    paper.fillStyle = ink;
    paper.fillRect(0, Math.round(top), width, 1);
    if (middle - taken >= 14 && middle > 6 && middle < bottom - 4) {
      paper.fillStyle = soft;
      paper.fillText(labelRoom < 84 ? name.split(' ')[1] : name, 0, middle, labelRoom - 8);
      taken = middle;
    }
  }
}

function drawRects(run, sx, sy, bottom) {
  const shades = {met: shadesOf('met'), missed: shadesOf('missed'), free: shadesOf('free')};
  const rects = rectsOf[chosen];
  paper.save();
  paper.beginPath();
  paper.rect(labelRoom, 0, canvas.clientWidth - labelRoom, bottom);
  paper.clip();
  for (let at = 0; at < rects.length; at += 5) {
    const [job, from, length, first, count] = rects.subarray(at, at + 5);
    if (from > view.x1 || from + length < view.x0) continue;
    const x = sx(from);
    const y = sy(first);
    const w = Math.max(0.6, sx(from + length) - x);
    const tall = sy(first + count) - y;
    const [shade, ink] = shades[statusOf(run, job)][(job * 7) % 5];
    paper.fillStyle = shade;
    paper.globalAlpha = marked >= 0 && marked !== job ? 0.25 : 1;
    paper.fillRect(x, y, w - (w > 3 ? 1 : 0), tall - (tall > 3 ? 1 : 0));
    if (w > 60 && tall >= 13 && data.jobs.name[job]) {
      paper.fillStyle = ink;
      paper.save();
      paper.beginPath();
      paper.rect(x, y, w - 4, tall);
      paper.clip();
      paper.fillText(data.jobs.name[job], Math.max(x, labelRoom) + 5, y + tall / 2);
      paper.restore();
    }
  }
  paper.globalAlpha = 1;
  if (marked >= 0 && data.jobs.deadline[marked] >= 0) {
    paper.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--text');
    paper.fillRect(sx(data.jobs.deadline[marked]), 0, 1.5, bottom);
  }
  paper.restore();
}

function drawTimes(sx, soft, ink, bottom, width) {
  const ticks = linearTicks(seconds(view.x0), seconds(view.x1),
    Math.max(2, Math.floor((width - labelRoom) / 72)), true);
  paper.textAlign = 'center';
  timeLabels(ticks).forEach((label, index) => {
    const x = sx(ticks[index] / data.tick);
    paper.fillStyle = ink;
    paper.fillRect(x, bottom, 1, 5);
    paper.fillStyle = soft;
    const half = paper.measureText(label).width / 2;
    paper.fillText(label, Math.min(x, width - half), bottom + 15);
  });
  paper.textAlign = 'start';
}

function drawGantt() {
  const run = data.runs[chosen];
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(name).trim();
  const width = canvas.clientWidth;
  labelRoom = width < 560 ? 28 : 84;
  const height = Math.min(560, Math.max(220, data.gpus * 16)) + axisRoom;
  const ratio = devicePixelRatio || 1;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  paper.setTransform(ratio, 0, 0, ratio, 0, 0);
  const {sx, sy} = scales();
  const bottom = height - axisRoom;
  drawLanes(read('--line'), read('--soft'), sy, width, bottom);
  drawRects(run, sx, sy, bottom);
  drawTimes(sx, read('--soft'), read('--line'), bottom, width);

  const bars = rectsOf[chosen].length / 5;
  canvas.setAttribute('aria-label',
    `${run.policy}: ${bars} bars on ${data.gpus} GPUs over ${time(seconds(data.span))}`);
  const left = run.left_out ? ` The ${run.left_out} smallest bars are left out.` : '';
  gantt.querySelector('.note').textContent = bars
    ? `One row per GPU, ${data.gpus} in all; shades tell neighbouring jobs apart.${left}`
    : 'The run kept no record of who held which GPU.';
}
)js";

}  // namespace

std::string_view html_script_gantt() { return kGanttScript; }

}  // namespace rubato
