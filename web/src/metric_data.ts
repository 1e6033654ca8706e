// Metrics as charts and tables want them.
import type { Axis } from './axes'
import { linearTicks, niceStep } from './axes'
import type { Line } from './chart'
import { countText } from './numbers'
import type { JobStatus } from './types'

/** Not a number is text in JSON. */
export type MetricValue = number | string
export interface Curve { steps: number[]; values: MetricValue[] }
export interface MetricLine extends Curve { name: string }
export interface JobMetrics { job: string; names: string[]; lines: MetricLine[] }
export interface JobCurve extends Curve { job: string; name: string; state: string }
export interface Comparison { name: string; jobs: JobCurve[] }

/** Of a job beside others; more than this many would not be told apart. */
export const COMPARED_MAX = 5
const TONES = ['accent', 'warm', 'good', 'look', 'bad', 'muted']

export const numberOf = (value: MetricValue): number | null => (typeof value === 'number' && Number.isFinite(value) ? value : null)

/** Curves over one axis of all their steps. */
export function overlay(curves: { label: string; curve: Curve }[]): { steps: number[]; lines: Line[] } {
  const steps = [...new Set(curves.flatMap((each) => each.curve.steps))].sort((a, b) => a - b)
  const places = new Map(steps.map((step, i) => [step, i]))
  const lines = curves.map(({ label, curve }, row): Line => {
    const values: (number | null)[] = Array(steps.length).fill(null)
    curve.steps.forEach((step, i) => { values[places.get(step)!] = numberOf(curve.values[i]) })
    return { label, values, tone: TONES[row % TONES.length], dash: row === 0 ? undefined : [[7, 3], [3, 3], [9, 3, 2, 3]][(row - 1) % 3] }
  })
  return { steps, lines }
}

/** Lowest and highest of all lines; nothing if there is no number. */
export function valueSpan(lines: Line[]): [low: number, high: number] | undefined {
  let low = Infinity
  let high = -Infinity
  for (const line of lines) {
    for (const value of line.values) {
      if (value === null) continue
      low = Math.min(low, value)
      high = Math.max(high, value)
    }
  }
  return low <= high ? [low, high] : undefined
}

export function shortNumber(value: number): string {
  if (value === 0) return '0'
  const size = Math.abs(value)
  return size >= 1e5 || size < 1e-3 ? value.toExponential(2).replace('e+', 'e').replace(/\.?0+e/, 'e') : String(Number(value.toPrecision(4)))
}

/** From one round value to another, so that the axis stays while values come. */
export function valueAxis([low, high]: [number, number]): Axis {
  const span = high > low ? high - low : Math.abs(high) || 1
  const step = niceStep(span, 4)
  const from = high > low ? Math.floor(low / step + 1e-9) * step : low - span / 2
  const to = high > low ? Math.ceil(high / step - 1e-9) * step : high + span / 2
  return { low: from, high: to, ticks: (a, b, count) => linearTicks(a, b, count), texts: (ticks) => ticks.map(shortNumber) }
}
export function stepAxis(steps: number[]): Axis {
  const low = steps[0] ?? 0
  const high = Math.max(steps[steps.length - 1] ?? 1, low + 1)
  return { low, high, ticks: (a, b, count) => linearTicks(a, b, count).filter(Number.isInteger), texts: (ticks) => ticks.map(countText) }
}

export interface MetricRow { name: string; last: string; step: string; low: string; high: string }
export function metricRows(lines: MetricLine[]): MetricRow[] {
  return lines.map((line) => {
    const span = valueSpan(overlay([{ label: line.name, curve: line }]).lines)
    const last = numberOf(line.values[line.values.length - 1] ?? 'NaN')
    return {
      name: line.name, last: last === null ? 'not a number' : shortNumber(last), step: countText(line.steps[line.steps.length - 1] ?? 0),
      low: span ? shortNumber(span[0]) : '–', high: span ? shortNumber(span[1]) : '–',
    }
  })
}

/** Jobs that one may want to compare with, the likeliest first: of the same name or model, then the newest. */
export function candidates(jobs: Iterable<JobStatus>, of: JobStatus, chosen: string[]): JobStatus[] {
  const likeness = (job: JobStatus) => Number(job.spec.name === of.spec.name) + Number(!!of.spec.model && job.spec.model === of.spec.model)
  return [...jobs].filter((job) => job.id !== of.id && job.spec.kind !== 'emulated' && job.state !== 'REJECTED' && !chosen.includes(job.id))
    .sort((a, b) => likeness(b) - likeness(a) || Number(b.id) - Number(a.id)).slice(0, 100)
}
