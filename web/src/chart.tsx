// Lines, dots and columns over time or over any other axis.
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import type { Axis } from './axes'
import { useDark } from './theme'

export interface Line {
  label: string; values: (number | null)[]
  /** The name of a colour of the style sheets, without the dashes. */
  tone: string
  look?: 'line' | 'dots' | 'triangles' | 'columns'
  fill?: boolean; dash?: boolean | number[]; steps?: boolean
}

/** Where the pointer is, and the chart to ask where anything else is. */
export interface ChartPoint { x: number; left: number; top: number; plot: uPlot }

export interface ChartProps {
  label: string; times: number[]; lines: Line[]; height?: number; min?: number; max?: number
  /** Without one, times are seconds of the clock on the wall. */
  x?: Axis
  y?: Axis
  hasLegend?: boolean
  /** What to say of the place under the pointer. */
  tip?: (at: ChartPoint) => ComponentChildren
}

const CLOCK_ROOM = 78
const TICK_ROOM = 64
const TIP_WIDTH = 250

function triangles(plot: uPlot, index: number, from: number, to: number) {
  const fill = new Path2D()
  const size = 5 * (devicePixelRatio || 1)
  for (let i = from; i <= to; i++) {
    const value = plot.data[index][i]
    if (value === null || value === undefined) continue
    const [x, y] = [plot.valToPos(plot.data[0][i], 'x', true), plot.valToPos(value, 'y', true)]
    fill.moveTo(x, y - size)
    fill.lineTo(x + size, y + 0.8 * size)
    fill.lineTo(x - size, y + 0.8 * size)
    fill.closePath()
  }
  return { fill, stroke: fill, flags: 3 }
}

function seriesOf(line: Line, count: number, color: (name: string) => string): uPlot.Series {
  const ink = color(`--${line.tone}`)
  const base = { label: line.label, stroke: ink, spanGaps: true }
  if (line.look === 'dots' || line.look === 'triangles') {
    const isRound = line.look === 'dots'
    return { ...base, paths: () => null, points: { show: true, size: 6, width: 0, fill: ink, ...(isRound ? {} : { paths: triangles }) } }
  }
  if (line.look === 'columns') return { ...base, width: 0, fill: ink, points: { show: false }, paths: uPlot.paths.bars!({ size: [0.94], align: 1, radius: 0.12 }) }
  return {
    ...base, width: line.dash === true ? 1.5 : 2, dash: line.dash === true ? [4, 4] : line.dash || undefined,
    fill: line.fill ? `color-mix(in srgb, ${ink} 16%, transparent)` : undefined,
    paths: line.steps ? uPlot.paths.stepped!({ align: 1 }) : undefined, points: { show: count < 3 },
  }
}

/** What is drawn along one side. */
function sideOf(axis: Axis | undefined, size: number, room: number): uPlot.Axis {
  if (!axis) return { size }
  return {
    size, space: room, filter: (_, splits) => splits,
    splits: (plot, _, low, high) => axis.ticks(low, high, Math.max(2, Math.floor((size > 30 ? plot.height : plot.width) / room))),
    values: (_, ticks) => axis.texts(ticks),
  }
}
const clockSide: uPlot.Axis = {
  size: 26, space: CLOCK_ROOM,
  values: (_, splits) => splits.map((at) => new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: splits[1] - splits[0] < 60 ? '2-digit' : undefined, hour12: false }).format(at * 1000)),
}

function optionsOf(props: ChartProps, width: number, height: number, color: (name: string) => string, onPoint: (at?: ChartPoint) => void): uPlot.Options {
  const { x, y } = props
  const look = { stroke: color('--muted'), grid: { stroke: color('--line'), width: 1 }, ticks: { show: false }, font: '11px system-ui, sans-serif' }
  return {
    width, height, legend: { show: props.hasLegend ?? props.lines.length > 1, live: false },
    cursor: { points: { size: 6, show: !props.lines.some((line) => line.look) as never }, y: false, drag: { x: !x, y: false } },
    padding: [8, x ? 18 : 8, 0, 0],
    scales: {
      ...(x && { x: { time: false, distr: x.isLog ? 3 : 1, range: [x.low, x.high] as uPlot.Range.MinMax } }),
      y: { range: (_, low, high) => (y ? [y.low, y.high] : [props.min ?? Math.min(low, 0), props.max ?? (high > low ? high * 1.08 : low + 1)]) },
    },
    axes: [{ ...look, ...(x ? sideOf(x, 26, TICK_ROOM) : clockSide) }, { ...look, ...sideOf(y, 44, 36) }],
    series: [{}, ...props.lines.map((line) => seriesOf(line, props.times.length, color))],
    hooks: {
      setCursor: [(plot) => {
        const { left = -1, top = -1 } = plot.cursor
        onPoint(left < 0 ? undefined : { x: plot.posToVal(left, 'x'), left, top, plot })
      }],
    },
  }
}

export function Chart(props: ChartProps) {
  const dark = useDark()
  const host = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>()
  const [point, setPoint] = useState<ChartPoint>()
  const height = props.height ?? 180
  const { x, y } = props
  const shape = [...props.lines.map((line) => line.label), x?.low, x?.high, y?.low, y?.high].join('|')

  useEffect(() => {
    const element = host.current!
    const style = getComputedStyle(element)
    const width = () => Math.max(element.clientWidth, 120)
    const onPoint = props.tip ? setPoint : () => {}
    const options = optionsOf(props, width(), height, (name) => style.getPropertyValue(name).trim(), onPoint)
    const made = new uPlot(options, [props.times, ...props.lines.map((line) => line.values)] as uPlot.AlignedData, element)
    plot.current = made
    const observer = new ResizeObserver(() => made.setSize({ width: width(), height }))
    observer.observe(element)
    return () => { observer.disconnect(); made.destroy(); setPoint(undefined) }
  }, [dark, shape, height])

  useEffect(() => {
    plot.current?.setData([props.times, ...props.lines.map((line) => line.values)] as uPlot.AlignedData)
  }, [props.times, props.lines])

  const said = point && props.tip?.(point)
  const left = point ? point.left + point.plot.over.offsetLeft : 0
  const room = host.current?.clientWidth ?? 0
  return (
    <div class="chart">
      <div ref={host} role="img" aria-label={props.label} />
      {said && <div class="tip" style={{ top: `${point.top + 12}px`, ...(left > room - TIP_WIDTH ? { right: `${Math.max(0, room - left) + 14}px` } : { left: `${left + 14}px` }) }}>{said}</div>}
    </div>
  )
}
