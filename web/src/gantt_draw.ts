// What a Gantt chart draws on its canvas: rows, bars, marks, lines and the axis, of what is in sight.
import type { ComponentChildren } from 'preact'
import { jobPaint, type Paint } from './colors'
import { clockText, ticks } from './time'

export interface GanttRow { key: string; label: ComponentChildren; lanes: number; height: number; isOut?: boolean }
export interface GanttBar {
  row: number; lane: number; lanes: number; from: number; to: number; job: string; text: string
  isFuture: boolean; isHurt?: boolean
  /** A bar over several rows ends before this lane of the last one; `lanes` is then not asked for. */
  until?: { row: number; lane: number }
}
/** A promised moment, and how far from it the job ends: a dashed line from `from` with `label`. */
export interface GanttMark { row: number; at: number; isKept: boolean; from: number; label: string }
/** A moment that matters to all rows. */
export interface GanttLine { at: number; label: string; tone: 'accent' | 'ink' | 'good' | 'bad' }
export interface View { from: number; to: number }
/** How moments are marked and written: by the clock on the wall unless told otherwise. */
export interface GanttTime { ticks: (from: number, to: number, count: number) => { at: number; label: string }[]; text: (at: number) => string }

export const AXIS = 26
const GAP = 6
export const WALL: GanttTime = { ticks, text: (at) => clockText(at) }

export interface Drawn { bar: GanttBar; x: number; y: number; w: number; h: number }

export function rowTops(rows: GanttRow[], gap = GAP): number[] {
  const tops = [0]
  for (const row of rows) tops.push(tops[tops.length - 1] + row.height + gap)
  return tops
}
/** The view inside the limits, moved before it is made shorter. */
export function viewWithin(view: View, limits: View): View {
  const span = Math.min(view.to - view.from, limits.to - limits.from)
  const from = Math.min(Math.max(view.from, limits.from), limits.to - span)
  return { from, to: from + span }
}

function colorsOf(element: Element) {
  const style = getComputedStyle(element)
  const read = (name: string) => style.getPropertyValue(name).trim()
  return { ink: read('--ink'), muted: read('--muted'), line: read('--line'), surface: read('--surface'), sunken: read('--sunken'), accent: read('--accent'), good: read('--good'), bad: read('--bad') }
}

function drawFrame(ctx: CanvasRenderingContext2D, size: { w: number; h: number }, props: GanttProps, colors: ReturnType<typeof colorsOf>, scroll: number, tops: number[]) {
  const { rows, view } = props
  const x = (at: number) => ((at - view.from) / (view.to - view.from)) * size.w
  ctx.clearRect(0, 0, size.w, size.h)
  rows.forEach((row, i) => {
    const y = AXIS + tops[i] - scroll
    if (y > size.h || y + row.height < AXIS) return
    ctx.fillStyle = colors.sunken
    ctx.globalAlpha = row.isOut ? 0.4 : 1
    ctx.beginPath()
    ctx.roundRect(0, y, size.w, row.height, Math.min(4, row.height / 2))
    ctx.fill()
    ctx.globalAlpha = 1
  })
  ctx.strokeStyle = colors.line
  ctx.lineWidth = 1
  ctx.font = '11px system-ui, sans-serif'
  ctx.textBaseline = 'middle'
  const marks = (props.time ?? WALL).ticks(view.from, view.to, Math.max(3, Math.floor(size.w / 90)))
  for (const tick of marks) {
    const at = Math.round(x(tick.at)) + 0.5
    ctx.beginPath()
    ctx.moveTo(at, AXIS)
    ctx.lineTo(at, size.h)
    ctx.stroke()
  }
  return { x, marks }
}

/** Top and height of a bar, or nothing if it is out of sight. */
function spanOf(bar: GanttBar, props: GanttProps, tops: number[], scroll: number, bottom: number): { y: number; h: number } | undefined {
  const row = props.rows[bar.row]
  if (!row) return undefined
  const lane = row.height / row.lanes
  const y = AXIS + tops[bar.row] - scroll + bar.lane * lane
  const last = bar.until && props.rows[bar.until.row]
  const end = last ? AXIS + tops[bar.until!.row] - scroll + (bar.until!.lane * last.height) / last.lanes : y + bar.lanes * lane
  if (y > bottom || end < AXIS) return undefined
  return { y, h: Math.max(end - y - (lane > 4 ? 1 : 0), 1) }
}

function drawBars(ctx: CanvasRenderingContext2D, size: { w: number; h: number }, props: GanttProps, dark: boolean, colors: ReturnType<typeof colorsOf>, scroll: number, tops: number[], x: (at: number) => number): Drawn[] {
  const drawn: Drawn[] = []
  const paintOf = props.paint ?? ((bar: GanttBar) => jobPaint(bar.job, dark, bar.isFuture))
  for (const bar of props.bars) {
    if (bar.to < props.view.from || bar.from > props.view.to) continue
    const span = spanOf(bar, props, tops, scroll, size.h)
    if (!span) continue
    const { y, h } = span
    const left = Math.max(x(bar.from), -2)
    const w = Math.max(Math.min(x(bar.to), size.w + 2) - left - 0.5, 1)
    const paint = paintOf(bar)
    ctx.globalAlpha = props.focus && props.focus !== bar.job ? 0.25 : 1
    ctx.fillStyle = paint.fill
    if (w < 4 || h < 4) {
      // Of these there may be very many, and nobody sees their corners.
      ctx.fillRect(left, y, w, h)
    } else {
      ctx.beginPath()
      ctx.roundRect(left, y, w, h, Math.min(3, h / 2, w / 2))
      ctx.fill()
      if (bar.isFuture || bar.isHurt) {
        ctx.strokeStyle = bar.isHurt ? colors.bad : paint.edge
        ctx.lineWidth = bar.isHurt ? 1.5 : 1
        ctx.stroke()
      }
    }
    if (h >= 11 && w > 34 && bar.text) {
      ctx.save()
      ctx.beginPath()
      ctx.rect(left, y, w - 4, h)
      ctx.clip()
      ctx.fillStyle = bar.isFuture ? colors.ink : paint.text
      ctx.font = '11px system-ui, sans-serif'
      ctx.fillText(bar.text, Math.max(left, 0) + 6, y + h / 2 + 0.5)
      ctx.restore()
    }
    ctx.globalAlpha = 1
    drawn.push({ bar, x: left, y, w, h })
  }
  return drawn
}

/** From the end of a job to its promise; the words stand on the line where there is room. */
function drawSlack(ctx: CanvasRenderingContext2D, mark: GanttMark, from: number, to: number, y: number, ground: string) {
  const [left, right] = [Math.min(from, to), Math.max(from, to)]
  ctx.lineWidth = 1
  ctx.setLineDash([3, 3])
  ctx.beginPath()
  ctx.moveTo(left + 3, y)
  ctx.lineTo(right - 3, y)
  ctx.stroke()
  ctx.setLineDash([])
  ctx.font = '11px system-ui, sans-serif'
  const width = ctx.measureText(mark.label).width
  if (right - left < width + 28) return
  const ink = ctx.fillStyle
  const middle = (left + right) / 2
  ctx.fillStyle = ground
  ctx.fillRect(middle - width / 2 - 5, y - 7, width + 10, 14)
  ctx.fillStyle = ink
  ctx.fillText(mark.label, middle - width / 2, y + 0.5)
}

function drawMarks(ctx: CanvasRenderingContext2D, size: { w: number; h: number }, props: GanttProps, colors: ReturnType<typeof colorsOf>, scroll: number, tops: number[], x: (at: number) => number) {
  for (const mark of props.marks ?? []) {
    const row = props.rows[mark.row]
    if (!row || mark.at < props.view.from || mark.at > props.view.to) continue
    const y = AXIS + tops[mark.row] - scroll
    if (y > size.h || y + row.height < AXIS) continue
    const at = x(mark.at)
    ctx.strokeStyle = ctx.fillStyle = mark.isKept ? colors.good : colors.bad
    if (Number.isFinite(mark.from)) drawSlack(ctx, mark, Math.max(0, Math.min(x(mark.from), size.w)), at, y + row.height / 2, colors.sunken)
    ctx.lineWidth = 2
    ctx.beginPath()
    ctx.moveTo(at, y - 2)
    ctx.lineTo(at, y + row.height + 2)
    ctx.stroke()
    ctx.beginPath()
    ctx.moveTo(at, y - 2)
    ctx.lineTo(at + 7, y + 2)
    ctx.lineTo(at, y + 6)
    ctx.fill()
  }
}

function drawAxis(ctx: CanvasRenderingContext2D, size: { w: number; h: number }, props: GanttProps, colors: ReturnType<typeof colorsOf>, frame: ReturnType<typeof drawFrame>) {
  const { marks, x } = frame
  const now: GanttLine[] = props.now === undefined ? [] : [{ at: props.now, label: 'now', tone: 'accent' }]
  const lines = [...(props.lines ?? []), ...now].map((line) => ({ ...line, x: x(line.at) })).filter((line) => line.x >= 0 && line.x <= size.w)
  ctx.fillStyle = colors.surface
  ctx.fillRect(0, 0, size.w, AXIS - 2)
  ctx.font = '11px system-ui, sans-serif'
  ctx.fillStyle = colors.muted
  ctx.textAlign = 'center'
  for (const tick of marks) {
    const at = x(tick.at)
    if (lines.every((line) => Math.abs(at - line.x) > 44) && at > 24 && at < size.w - 24) ctx.fillText(tick.label, at, 11)
  }
  for (const line of lines) {
    ctx.strokeStyle = ctx.fillStyle = colors[line.tone]
    ctx.lineWidth = 1.5
    ctx.beginPath()
    ctx.moveTo(line.x, AXIS - 6)
    ctx.lineTo(line.x, size.h)
    ctx.stroke()
    ctx.font = '600 11px system-ui, sans-serif'
    const half = ctx.measureText(line.label).width / 2 + 2
    ctx.fillText(line.label, Math.min(Math.max(line.x, half), size.w - half), 11)
  }
  ctx.textAlign = 'start'
}

export interface GanttProps {
  rows: GanttRow[]; bars: GanttBar[]; marks?: GanttMark[]; lines?: GanttLine[]; view: View; now?: number
  label: string; focus?: string; heightMax?: number; gap?: number
  time?: GanttTime
  /** Where there is nothing to see beyond; the view stays inside. */
  limits?: View
  paint?: (bar: GanttBar) => Paint
  tip: (bar: GanttBar, at: number) => ComponentChildren
  onPick?: (job: string) => void
  onView?: (view: View) => void
}

/** Draws it all; returns the bars in sight, the topmost last. */
export function drawGantt(element: HTMLCanvasElement, size: { w: number; h: number }, props: GanttProps, dark: boolean, scroll: number, tops: number[]): Drawn[] {
  const scale = devicePixelRatio || 1
  element.width = Math.round(size.w * scale)
  element.height = Math.round(size.h * scale)
  element.style.width = `${size.w}px`
  element.style.height = `${size.h}px`
  const ctx = element.getContext('2d')!
  ctx.setTransform(scale, 0, 0, scale, 0, 0)
  const colors = colorsOf(element)
  const frame = drawFrame(ctx, size, props, colors, scroll, tops)
  const drawn = drawBars(ctx, size, props, dark, colors, scroll, tops, frame.x)
  drawMarks(ctx, size, props, colors, scroll, tops, frame.x)
  drawAxis(ctx, size, props, colors, frame)
  return drawn
}
