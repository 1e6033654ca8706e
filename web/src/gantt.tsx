// A chart of rows over time, on a canvas: it draws what is in sight alone. Labels are ordinary
// elements, so that they can be focused, read aloud and dragged.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { AXIS, drawGantt, rowTops, viewWithin, WALL, type Drawn, type GanttBar, type GanttProps, type View } from './gantt_draw'
import { useDark } from './theme'

export type { GanttBar, GanttLine, GanttMark, GanttProps, GanttRow, GanttTime, View } from './gantt_draw'

const SPAN_MIN = 10_000
const SPAN_MAX = 60 * 86_400_000

/** What fingers and mouse do to the view: drag, pinch, wheel and keys. */
function useMoves(props: GanttProps, width: number) {
  const drag = useRef<{ x: number; view: View; moved: boolean }>()
  const fingers = useRef(new Map<number, number>())
  const pinch = useRef<{ gap: number; view: View }>()
  const { limits, view } = props
  const show = (next: View) => props.onView?.(limits ? viewWithin(next, limits) : next)
  const zoom = (factor: number, around = 0.5, of = view) => {
    const span = of.to - of.from
    const middle = of.from + span * around
    const [least, most] = limits ? [(limits.to - limits.from) / 2000, limits.to - limits.from] : [SPAN_MIN, SPAN_MAX]
    const next = Math.min(Math.max(span * factor, least), most)
    show({ from: middle - next * around, to: middle + next * (1 - around) })
  }
  const pan = (part: number) => {
    const by = (view.to - view.from) * part
    show({ from: view.from + by, to: view.to + by })
  }
  const gap = () => {
    const [a, b] = [...fingers.current.values()]
    return Math.max(1, Math.abs(a - b))
  }
  const down = (event: PointerEvent) => {
    fingers.current.set(event.pointerId, event.clientX)
    drag.current = { x: event.clientX, view, moved: fingers.current.size > 1 }
    pinch.current = fingers.current.size === 2 ? { gap: gap(), view } : undefined
  }
  /** True if the movement changed the view. */
  const move = (event: PointerEvent) => {
    if (!drag.current) return false
    if (fingers.current.has(event.pointerId)) fingers.current.set(event.pointerId, event.clientX)
    if (pinch.current) {
      zoom(pinch.current.gap / gap(), 0.5, pinch.current.view)
      return true
    }
    const moved = event.clientX - drag.current.x
    if (Math.abs(moved) > 3) drag.current.moved = true
    const by = (moved / width) * (drag.current.view.to - drag.current.view.from)
    if (drag.current.moved) show({ from: drag.current.view.from - by, to: drag.current.view.to - by })
    return true
  }
  /** True if it was a click. */
  const up = (event: PointerEvent) => {
    const was = drag.current
    fingers.current.delete(event.pointerId)
    drag.current = pinch.current = undefined
    return !!was && !was.moved
  }
  return { zoom, pan, down, move, up }
}

export function Gantt(props: GanttProps) {
  const dark = useDark()
  const canvas = useRef<HTMLCanvasElement>(null)
  const scroller = useRef<HTMLDivElement>(null)
  const drawn = useRef<Drawn[]>([])
  const [scroll, setScroll] = useState(0)
  const [width, setWidth] = useState(600)
  const [hover, setHover] = useState<{ bar: GanttBar; x: number; y: number; at: number }>()
  const { zoom, pan, down, move, up } = useMoves(props, width)
  const { rows, bars, marks, lines, view, now, focus, gap, paint } = props
  const text = (props.time ?? WALL).text
  const tops = rowTops(rows, gap)
  const full = AXIS + tops[tops.length - 1]
  const height = Math.min(full, props.heightMax ?? 560)

  useEffect(() => {
    const element = canvas.current!.parentElement!
    const observer = new ResizeObserver(() => setWidth(element.clientWidth))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])

  // Not when only the tip moves: there may be very many bars.
  useLayoutEffect(() => {
    drawn.current = drawGantt(canvas.current!, { w: width, h: height }, props, dark, scroll, tops)
  }, [rows, bars, marks, lines, view.from, view.to, now, focus, gap, paint, dark, scroll, width, height])

  const look = (event: MouseEvent) => {
    const box = canvas.current!.getBoundingClientRect()
    const [x, y] = [event.clientX - box.left, event.clientY - box.top]
    for (let i = drawn.current.length - 1; i >= 0; i--) {
      const each = drawn.current[i]
      if (x >= each.x && x <= each.x + each.w && y >= each.y && y <= each.y + each.h) return { bar: each.bar, x, y, at: view.from + (x / width) * (view.to - view.from) }
    }
    return undefined
  }
  const part = (event: MouseEvent) => (event.clientX - canvas.current!.getBoundingClientRect().left) / width
  const onKey = (event: KeyboardEvent) => {
    const act: Record<string, () => void> = {
      ArrowLeft: () => pan(-0.15), ArrowRight: () => pan(0.15), '+': () => zoom(0.7), '=': () => zoom(0.7), '-': () => zoom(1.4),
      ArrowUp: () => { scroller.current!.scrollTop -= 40 }, ArrowDown: () => { scroller.current!.scrollTop += 40 },
      ...(props.limits && { 0: () => props.onView?.(props.limits!) }),
    }
    if (act[event.key] && !event.ctrlKey && !event.metaKey) { event.preventDefault(); act[event.key]() }
  }

  return (
    <div class="gantt" style={{ height: `${height}px` }}>
      <div class="gantt-scroll" ref={scroller} onScroll={() => setScroll(scroller.current!.scrollTop)} tabIndex={full > height ? 0 : undefined} role={full > height ? 'group' : undefined} aria-label={full > height ? `${props.label}: rows` : undefined}>
        <div class="gantt-inner" style={{ height: `${full}px` }}>
          <div class="gantt-labels" style={{ paddingTop: `${AXIS}px` }}>
            {rows.map((row, i) => {
              const y = AXIS + tops[i]
              if (!row.label || y + row.height < scroll || y > scroll + height) return null
              return <div key={row.key} class={`gantt-label ${row.isOut ? 'is-out' : ''}`} style={{ top: `${y}px`, height: `${row.height}px` }}>{row.label}</div>
            })}
          </div>
          <div class="gantt-plot" style={{ height: `${height}px` }}>
            <canvas
              ref={canvas} tabIndex={0} role="img" aria-label={`${props.label}, from ${text(view.from)} to ${text(view.to)}. Arrow keys move, plus and minus zoom.`}
              onKeyDown={onKey} onPointerDown={down} onPointerCancel={up}
              onPointerMove={(event) => { setHover(move(event) ? undefined : look(event)) }}
              onPointerUp={(event) => {
                const found = look(event)
                if (!up(event)) return
                setHover(found)
                if (found) props.onPick?.(found.bar.job)
              }}
              onPointerLeave={(event) => { up(event); if (event.pointerType !== 'touch') setHover(undefined) }}
              onDblClick={(event) => { if (props.limits) zoom(0.5, part(event)) }}
              onWheel={(event) => {
                if (!event.ctrlKey && !event.metaKey && !event.shiftKey) return
                event.preventDefault()
                zoom(event.deltaY > 0 ? 1.2 : 0.83, part(event))
              }}
            />
            {hover && (
              <div class="tip" style={{ left: `${Math.min(hover.x + 14, Math.max(width - 250, 0))}px`, top: `${Math.min(hover.y + 14, height - 20)}px` }}>
                {props.tip(hover.bar, hover.at)}
              </div>
            )}
          </div>
        </div>
      </div>
    </div>
  )
}
