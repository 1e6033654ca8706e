// A chart of rows over time, on a canvas: it draws what is in sight alone. Labels are ordinary
// elements, so that they can be focused, read aloud and dragged.
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { jobPaint } from './colors'
import { useDark } from './theme'
import { clockText, ticks } from './time'

export interface GanttRow { key: string; label: ComponentChildren; lanes: number; height: number; isOut?: boolean }
export interface GanttBar {
  row: number; lane: number; lanes: number; from: number; to: number; job: string; text: string
  isFuture: boolean; isHurt?: boolean
}
export interface GanttMark { row: number; at: number; isKept: boolean; label: string }
export interface View { from: number; to: number }

const AXIS = 26
const GAP = 6

interface Drawn { bar: GanttBar; x: number; y: number; w: number; h: number }

export function rowTops(rows: GanttRow[]): number[] {
  const tops = [0]
  for (const row of rows) tops.push(tops[tops.length - 1] + row.height + GAP)
  return tops
}

function colorsOf(element: Element) {
  const style = getComputedStyle(element)
  const read = (name: string) => style.getPropertyValue(name).trim()
  return { ink: read('--ink'), muted: read('--muted'), line: read('--line'), surface: read('--surface'), sunken: read('--sunken'), accent: read('--accent'), good: read('--good'), bad: read('--bad') }
}

function drawFrame(ctx: CanvasRenderingContext2D, size: { w: number; h: number }, props: GanttProps, colors: ReturnType<typeof colorsOf>, scroll: number, tops: number[]) {
  const { rows, view, now } = props
  const x = (at: number) => ((at - view.from) / (view.to - view.from)) * size.w
  ctx.clearRect(0, 0, size.w, size.h)
  rows.forEach((row, i) => {
    const y = AXIS + tops[i] - scroll
    if (y > size.h || y + row.height < AXIS) return
    ctx.fillStyle = colors.sunken
    ctx.globalAlpha = row.isOut ? 0.4 : 1
    ctx.beginPath()
    ctx.roundRect(0, y, size.w, row.height, 4)
    ctx.fill()
    ctx.globalAlpha = 1
  })
  ctx.strokeStyle = colors.line
  ctx.lineWidth = 1
  ctx.font = '11px system-ui, sans-serif'
  ctx.textBaseline = 'middle'
  const marks = ticks(view.from, view.to, Math.max(2, Math.floor(size.w / 90)))
  for (const tick of marks) {
    const at = Math.round(x(tick.at)) + 0.5
    ctx.beginPath()
    ctx.moveTo(at, AXIS)
    ctx.lineTo(at, size.h)
    ctx.stroke()
  }
  return { x, marks, nowX: x(now) }
}

function drawBars(ctx: CanvasRenderingContext2D, size: { w: number; h: number }, props: GanttProps, dark: boolean, colors: ReturnType<typeof colorsOf>, scroll: number, tops: number[], x: (at: number) => number): Drawn[] {
  const drawn: Drawn[] = []
  for (const bar of props.bars) {
    const row = props.rows[bar.row]
    if (!row || bar.to < props.view.from || bar.from > props.view.to) continue
    const y0 = AXIS + tops[bar.row] - scroll
    if (y0 > size.h || y0 + row.height < AXIS) continue
    const lane = row.height / row.lanes
    const y = y0 + bar.lane * lane
    const h = Math.max(bar.lanes * lane - (lane > 4 ? 1 : 0), 1)
    const left = Math.max(x(bar.from), -2)
    const w = Math.max(Math.min(x(bar.to), size.w + 2) - left - 0.5, 1)
    const paint = jobPaint(bar.job, dark, bar.isFuture)
    ctx.globalAlpha = props.focus && props.focus !== bar.job ? 0.25 : 1
    ctx.fillStyle = paint.fill
    ctx.beginPath()
    ctx.roundRect(left, y, w, h, Math.min(3, h / 2, w / 2))
    ctx.fill()
    if (bar.isFuture || bar.isHurt) {
      ctx.strokeStyle = bar.isHurt ? colors.bad : paint.edge
      ctx.lineWidth = bar.isHurt ? 1.5 : 1
      ctx.stroke()
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

function drawMarks(ctx: CanvasRenderingContext2D, size: { w: number; h: number }, props: GanttProps, colors: ReturnType<typeof colorsOf>, scroll: number, tops: number[], x: (at: number) => number) {
  for (const mark of props.marks ?? []) {
    const row = props.rows[mark.row]
    if (!row || mark.at < props.view.from || mark.at > props.view.to) continue
    const y = AXIS + tops[mark.row] - scroll
    if (y > size.h || y + row.height < AXIS) continue
    const at = x(mark.at)
    ctx.strokeStyle = ctx.fillStyle = mark.isKept ? colors.good : colors.bad
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
  const { marks, x, nowX } = frame
  ctx.fillStyle = colors.surface
  ctx.fillRect(0, 0, size.w, AXIS - 2)
  ctx.font = '11px system-ui, sans-serif'
  ctx.fillStyle = colors.muted
  ctx.textAlign = 'center'
  for (const tick of marks) {
    const at = x(tick.at)
    if (Math.abs(at - nowX) > 44 && at > 24 && at < size.w - 24) ctx.fillText(tick.label, at, 11)
  }
  if (nowX >= 0 && nowX <= size.w) {
    ctx.strokeStyle = ctx.fillStyle = colors.accent
    ctx.lineWidth = 1.5
    ctx.beginPath()
    ctx.moveTo(nowX, AXIS - 6)
    ctx.lineTo(nowX, size.h)
    ctx.stroke()
    ctx.font = '600 11px system-ui, sans-serif'
    ctx.fillText(props.nowLabel ?? 'now', Math.min(Math.max(nowX, 18), size.w - 18), 11)
  }
  ctx.textAlign = 'start'
}

export interface GanttProps {
  rows: GanttRow[]; bars: GanttBar[]; marks?: GanttMark[]; view: View; now: number; nowLabel?: string
  label: string; focus?: string; heightMax?: number
  tip: (bar: GanttBar) => ComponentChildren
  onPick?: (job: string) => void
  onView?: (view: View) => void
}

export function Gantt(props: GanttProps) {
  const dark = useDark()
  const canvas = useRef<HTMLCanvasElement>(null)
  const scroller = useRef<HTMLDivElement>(null)
  const drawn = useRef<Drawn[]>([])
  const drag = useRef<{ x: number; view: View; moved: boolean }>()
  const [scroll, setScroll] = useState(0)
  const [width, setWidth] = useState(600)
  const [hover, setHover] = useState<{ bar: GanttBar; x: number; y: number }>()
  const tops = rowTops(props.rows)
  const full = AXIS + tops[tops.length - 1]
  const height = Math.min(full, props.heightMax ?? 560)

  useEffect(() => {
    const element = canvas.current!.parentElement!
    const observer = new ResizeObserver(() => setWidth(element.clientWidth))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])

  useLayoutEffect(() => {
    const element = canvas.current!
    const scale = devicePixelRatio || 1
    element.width = Math.round(width * scale)
    element.height = Math.round(height * scale)
    element.style.width = `${width}px`
    element.style.height = `${height}px`
    const ctx = element.getContext('2d')!
    ctx.setTransform(scale, 0, 0, scale, 0, 0)
    const colors = colorsOf(element)
    const size = { w: width, h: height }
    const frame = drawFrame(ctx, size, props, colors, scroll, tops)
    drawn.current = drawBars(ctx, size, props, dark, colors, scroll, tops, frame.x)
    drawMarks(ctx, size, props, colors, scroll, tops, frame.x)
    drawAxis(ctx, size, props, colors, frame)
  })

  const at = (event: MouseEvent) => {
    const box = canvas.current!.getBoundingClientRect()
    return { x: event.clientX - box.left, y: event.clientY - box.top }
  }
  const barAt = (x: number, y: number) => {
    for (let i = drawn.current.length - 1; i >= 0; i--) {
      const each = drawn.current[i]
      if (x >= each.x && x <= each.x + each.w && y >= each.y && y <= each.y + each.h) return each.bar
    }
    return undefined
  }
  const zoom = (factor: number, around = 0.5) => {
    const span = props.view.to - props.view.from
    const middle = props.view.from + span * around
    const next = Math.min(Math.max(span * factor, 10_000), 60 * 86_400_000)
    props.onView?.({ from: middle - next * around, to: middle + next * (1 - around) })
  }
  const pan = (part: number) => {
    const by = (props.view.to - props.view.from) * part
    props.onView?.({ from: props.view.from + by, to: props.view.to + by })
  }
  const onKey = (event: KeyboardEvent) => {
    const act: Record<string, () => void> = {
      ArrowLeft: () => pan(-0.15), ArrowRight: () => pan(0.15), '+': () => zoom(0.7), '=': () => zoom(0.7), '-': () => zoom(1.4),
      ArrowUp: () => { scroller.current!.scrollTop -= 40 }, ArrowDown: () => { scroller.current!.scrollTop += 40 },
    }
    if (act[event.key]) { event.preventDefault(); act[event.key]() }
  }
  const onMove = (event: PointerEvent) => {
    const { x, y } = at(event)
    if (drag.current) {
      const moved = event.clientX - drag.current.x
      if (Math.abs(moved) > 3) drag.current.moved = true
      const by = (moved / width) * (drag.current.view.to - drag.current.view.from)
      if (drag.current.moved) props.onView?.({ from: drag.current.view.from - by, to: drag.current.view.to - by })
      return
    }
    const bar = barAt(x, y)
    setHover(bar ? { bar, x, y } : undefined)
  }
  const onUp = (event: PointerEvent) => {
    const was = drag.current
    drag.current = undefined
    const { x, y } = at(event)
    const bar = barAt(x, y)
    if (was && !was.moved && bar) props.onPick?.(bar.job)
  }

  return (
    <div class="gantt" style={{ height: `${height}px` }}>
      <div class="gantt-scroll" ref={scroller} onScroll={() => setScroll(scroller.current!.scrollTop)} tabIndex={full > height ? 0 : undefined} role={full > height ? 'group' : undefined} aria-label={full > height ? `${props.label}: rows` : undefined}>
        <div class="gantt-inner" style={{ height: `${full}px` }}>
          <div class="gantt-labels" style={{ paddingTop: `${AXIS}px` }}>
            {props.rows.map((row, i) => {
              const y = AXIS + tops[i]
              if (y + row.height < scroll || y > scroll + height) return null
              return <div key={row.key} class={`gantt-label ${row.isOut ? 'is-out' : ''}`} style={{ top: `${y}px`, height: `${row.height}px` }}>{row.label}</div>
            })}
          </div>
          <div class="gantt-plot" style={{ height: `${height}px` }}>
            <canvas
              ref={canvas} tabIndex={0} role="img" aria-label={`${props.label}, from ${clockText(props.view.from)} to ${clockText(props.view.to)}. Arrow keys move, plus and minus zoom.`}
              onKeyDown={onKey} onPointerMove={onMove} onPointerUp={onUp}
              onPointerDown={(event) => { drag.current = { x: event.clientX, view: props.view, moved: false } }}
              onPointerLeave={() => { setHover(undefined); drag.current = undefined }}
              onWheel={(event) => {
                if (!event.ctrlKey && !event.metaKey && !event.shiftKey) return
                event.preventDefault()
                zoom(event.deltaY > 0 ? 1.2 : 0.83, at(event).x / width)
              }}
            />
            {hover && (
              <div class="tip" style={{ left: `${Math.min(hover.x + 14, Math.max(width - 250, 0))}px`, top: `${Math.min(hover.y + 14, height - 20)}px` }}>
                {props.tip(hover.bar)}
              </div>
            )}
          </div>
        </div>
      </div>
    </div>
  )
}
