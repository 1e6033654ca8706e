// Lines over time.
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { useDark } from './theme'

export interface Line { label: string; values: (number | null)[]; tone: 'accent' | 'muted' | 'good' | 'warm'; fill?: boolean; dash?: boolean; steps?: boolean }

const TONE = { accent: '--accent', muted: '--muted', good: '--good', warm: '--warm' }

export function Chart(props: { label: string; times: number[]; lines: Line[]; height?: number; unit?: string; min?: number; max?: number }) {
  const dark = useDark()
  const host = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>()
  const height = props.height ?? 180
  const shape = props.lines.map((line) => line.label).join('|')

  useEffect(() => {
    const element = host.current!
    const style = getComputedStyle(element)
    const color = (name: string) => style.getPropertyValue(name).trim()
    const axis = { stroke: color('--muted'), grid: { stroke: color('--line'), width: 1 }, ticks: { show: false }, font: '11px system-ui, sans-serif' }
    const steps = uPlot.paths.stepped!({ align: 1 })
    const made = new uPlot(
      {
        width: Math.max(element.clientWidth, 120), height, legend: { show: props.lines.length > 1, live: false },
        cursor: { points: { size: 6 }, y: false }, padding: [8, 8, 0, 0],
        scales: { y: { range: (_, low, high) => [props.min ?? Math.min(low, 0), props.max ?? (high > low ? high * 1.08 : low + 1)] } },
        axes: [
          { ...axis, size: 26, space: 78, values: (_, splits) => splits.map((at) => new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: splits[1] - splits[0] < 60 ? '2-digit' : undefined, hour12: false }).format(at * 1000)) },
          { ...axis, size: 44 },
        ],
        series: [
          {},
          ...props.lines.map((line) => ({
            label: line.label, stroke: color(TONE[line.tone]), width: line.dash ? 1.5 : 2, dash: line.dash ? [4, 4] : undefined,
            fill: line.fill ? `color-mix(in srgb, ${color(TONE[line.tone])} 16%, transparent)` : undefined,
            paths: line.steps ? steps : undefined, points: { show: props.times.length < 3 }, spanGaps: true,
          })),
        ],
      },
      [props.times, ...props.lines.map((line) => line.values)] as uPlot.AlignedData, element,
    )
    plot.current = made
    const observer = new ResizeObserver(() => made.setSize({ width: Math.max(element.clientWidth, 120), height }))
    observer.observe(element)
    return () => { observer.disconnect(); made.destroy() }
  }, [dark, shape, height])

  useEffect(() => {
    plot.current?.setData([props.times, ...props.lines.map((line) => line.values)] as uPlot.AlignedData)
  }, [props.times, props.lines])

  return <div class="chart" ref={host} role="img" aria-label={props.label} />
}
