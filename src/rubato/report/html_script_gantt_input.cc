// Script, part 7: zoom, pan, tooltip and search in the picture of part 6.
#include "rubato/report/html_assets.h"

namespace rubato {
namespace {

constexpr std::string_view kGanttInputScript = R"js(
let waiting = false;
function drawSoon() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    drawGantt();
  });
}

// Keeps the view inside the whole, whatever it was moved to.
function setView(x0, x1, y0, y1) {
  const place = (low, high, min, max, least) => {
    const span = Math.min(max - min, Math.max(least, high - low));
    const from = Math.min(max - span, Math.max(min, (low + high - span) / 2));
    return [from, from + span];
  };
  [view.x0, view.x1] = place(x0, x1, whole.x0, whole.x1, Math.min(20, whole.x1));
  [view.y0, view.y1] = place(y0, y1, whole.y0, whole.y1, Math.min(4, whole.y1));
  drawSoon();
}
function zoom(factor, x, y) {
  const about = (low, high, fixed) =>
    [fixed - (fixed - low) / factor, fixed + (high - fixed) / factor];
  setView(...about(view.x0, view.x1, x), ...about(view.y0, view.y1, y));
}
function move(dx, dy) {
  setView(view.x0 + dx, view.x1 + dx, view.y0 + dy, view.y1 + dy);
}
const showWhole = () => setView(whole.x0, whole.x1, whole.y0, whole.y1);
const zoomMiddle = (factor) => zoom(factor, (view.x0 + view.x1) / 2, (view.y0 + view.y1) / 2);

function dataAt(event) {
  const box = canvas.getBoundingClientRect();
  const {sx, sy} = scales();
  return [sx.back(event.clientX - box.left), sy.back(event.clientY - box.top)];
}
function hit(x, y) {
  const rects = rectsOf[chosen];
  for (let at = 0; at < rects.length; at += 5) {
    const [job, from, length, first, count] = rects.subarray(at, at + 5);
    if (x >= from && x < from + length && y >= first && y < first + count) {
      return {job, from, to: from + length};
    }
  }
  return null;
}
// All GPUs of a job at one moment, over all its ranges.
function workersAt(job, x) {
  const rects = rectsOf[chosen];
  let sum = 0;
  for (let at = 0; at < rects.length; at += 5) {
    if (rects[at] === job && x >= rects[at + 1] && x < rects[at + 1] + rects[at + 2]) {
      sum += rects[at + 4];
    }
  }
  return sum;
}
const classes = ['slo', 'soft', 'best effort'];
function describe(event, found, x) {
  const {job} = found;
  const run = data.runs[chosen];
  const rows = [[null, 'workers', String(workersAt(job, x))],
    [null, 'held', `${moment(found.from)} to ${moment(found.to)}`]];
  if (job < data.jobs.name.length) {
    const deadline = data.jobs.deadline[job];
    rows.push([null, 'class', classes[data.jobs.class[job]]]);
    rows.push([null, 'arrival', moment(data.jobs.arrival[job])]);
    if (deadline >= 0) rows.push([null, 'deadline', moment(deadline)]);
    if (run.promised[job] >= 0) rows.push([null, 'promised', moment(run.promised[job])]);
    rows.push([null, 'finish', moment(run.finish[job])]);
    if (run.resizes[job]) rows.push([null, 'resizes', String(run.resizes[job])]);
  }
  showTip(event, data.jobs.name[job] || 'job', rows);
}
function mark(job) {
  if (job !== marked) {
    marked = job;
    drawSoon();
  }
}

const pointers = new Map();
canvas.addEventListener('pointerdown', (event) => {
  canvas.setPointerCapture(event.pointerId);
  pointers.set(event.pointerId, event);
  canvas.classList.add('moving');
});
function dragTo(event) {
  const before = pointers.get(event.pointerId);
  const [bx, by] = dataAt(before);
  const [x, y] = dataAt(event);
  const other = [...pointers.values()].find((each) => each.pointerId !== event.pointerId);
  if (other) {
    const gap = (from) => Math.hypot(from.clientX - other.clientX, from.clientY - other.clientY);
    const [ox, oy] = dataAt(other);
    zoom(gap(event) / Math.max(1, gap(before)), (x + ox) / 2, (y + oy) / 2);
  } else {
    move(bx - x, event.pointerType === 'touch' ? 0 : by - y);
  }
  pointers.set(event.pointerId, event);
}
canvas.addEventListener('pointermove', (event) => {
  if (pointers.has(event.pointerId)) {
    hideTip();
    dragTo(event);
    return;
  }
  const [x, y] = dataAt(event);
  const found = event.offsetX > labelRoom ? hit(x, y) : null;
  mark(found ? found.job : -1);
  if (found) describe(event, found, x); else hideTip();
});
function release(event) {
  const before = pointers.get(event.pointerId);
  pointers.delete(event.pointerId);
  if (!pointers.size) canvas.classList.remove('moving');
  // A tap shows what a mouse shows when it rests.
  if (before && event.type === 'pointerup' && event.pointerType === 'touch') {
    const [x, y] = dataAt(event);
    const found = hit(x, y);
    mark(found ? found.job : -1);
    if (found) describe(event, found, x);
  }
}
canvas.addEventListener('pointerup', release);
canvas.addEventListener('pointercancel', release);
canvas.addEventListener('pointerleave', (event) => {
  if (event.pointerType !== 'touch') {
    mark(-1);
    hideTip();
  }
});
canvas.addEventListener('wheel', (event) => {
  const width = view.x1 - view.x0;
  if (event.ctrlKey || event.metaKey) {
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 300), ...dataAt(event));
  } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    event.preventDefault();
    move(event.deltaX * width / canvas.clientWidth, 0);
  }
}, {passive: false});
canvas.addEventListener('dblclick', (event) => zoom(2, ...dataAt(event)));
canvas.addEventListener('keydown', (event) => {
  const x = (view.x1 - view.x0) / 8;
  const y = (view.y1 - view.y0) / 8;
  const actions = {ArrowLeft: () => move(-x, 0), ArrowRight: () => move(x, 0),
    ArrowUp: () => move(0, -y), ArrowDown: () => move(0, y), '+': () => zoomMiddle(1.5),
    '=': () => zoomMiddle(1.5), '-': () => zoomMiddle(1 / 1.5), '0': showWhole};
  if (actions[event.key] && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    actions[event.key]();
  }
});
const buttons = {in: () => zoomMiddle(1.6), out: () => zoomMiddle(1 / 1.6), all: showWhole};
for (const button of gantt.querySelectorAll('[data-zoom]')) {
  button.addEventListener('click', () => buttons[button.dataset.zoom]());
}

// Finding a job marks it and brings its life into view.
gantt.querySelector('input').addEventListener('input', (event) => {
  const wanted = event.target.value.trim().toLowerCase();
  const names = data.jobs.name;
  let job = wanted ? names.findIndex((name) => name.toLowerCase() === wanted) : -1;
  if (wanted && job < 0) job = names.findIndex((name) => name.toLowerCase().includes(wanted));
  mark(job);
  if (job < 0) return showWhole();
  const finish = data.runs[chosen].finish[job];
  const end = Math.max(finish, data.jobs.deadline[job], data.jobs.arrival[job]);
  const room = (end - data.jobs.arrival[job]) * 0.25 + 1;
  setView(data.jobs.arrival[job] - room, end + room, whole.y0, whole.y1);
});

paint(canvas.parentElement, drawGantt);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawGantt);
)js";

}  // namespace

std::string_view html_script_gantt_input() { return kGanttInputScript; }

}  // namespace rubato
