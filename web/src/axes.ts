// Axes of charts: which values are marked, and how they are written.

export interface Axis {
  low: number
  high: number
  isLog?: boolean
  /** The values to mark when there is room for about `count`. */
  ticks: (low: number, high: number, count: number) => number[]
  /** All marks of one axis together: they share a unit. */
  texts: (ticks: number[]) => string[]
}

/** Seconds of a unit, its name, and from how many seconds on it is used. */
const UNITS: [number, string, number][] = [[86_400, 'd', 172_800], [3600, 'h', 3600], [60, 'min', 60], [1, 's', 1], [1e-3, 'ms', 1e-3]]
const TIME_STEPS = [
  0.001, 0.01, 0.1, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200,
  86_400, 172_800, 259_200, 432_000, 864_000, 1_728_000, 4_320_000, 8_640_000, 31_536_000,
]
/** From coarse to fine; the finest for which there is room is used. */
const LOG_TIMES = [
  [0.001, 1, 60, 3600, 86_400, 864_000, 8_640_000, 86_400_000],
  [0.001, 0.01, 0.1, 1, 10, 60, 600, 3600, 36_000, 345_600, 864_000, 8_640_000, 86_400_000],
  [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 18_000, 36_000, 86_400, 172_800, 432_000, 864_000, 1_728_000, 4_320_000, 8_640_000, 31_536_000],
]
const LOG_FACTORS = [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 5, 7]]

/** Three digits or so. */
export function digits(value: number): string {
  const size = Math.abs(value)
  return String(Number(value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2)))
}
/** `2.8 h`; one unit, also of less than a second. */
export function secondsText(seconds: number): string {
  if (!seconds) return '0 s'
  const unit = UNITS.find((each) => Math.abs(seconds) >= each[2]) ?? UNITS[UNITS.length - 1]
  return `${digits(seconds / unit[0])} ${unit[1]}`
}
export const shareText = (share: number) => `${digits(share * 100)}%`
export const timesText = (factor: number) => `${digits(factor)}×`

/** A round step that divides `span` into about `count`. */
export function niceStep(span: number, count: number, isTime = false): number {
  if (isTime) return TIME_STEPS.find((step) => span / step <= count) ?? span
  const rough = span / count
  const power = 10 ** Math.floor(Math.log10(rough))
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough)!
}
export function linearTicks(low: number, high: number, count: number, isTime = false): number[] {
  const step = niceStep(high - low || 1, count, isTime)
  const ticks = []
  for (let index = Math.ceil(low / step - 1e-9); index * step <= high + 1e-9 * step; ++index) ticks.push(Number((index * step).toPrecision(12)))
  return ticks
}
/** At most `count`, unless even the coarsest are more. */
export function logTicks(low: number, high: number, count: number, isTime = false): number[] {
  const powers: number[] = []
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power++) powers.push(power)
  const all = isTime ? LOG_TIMES : LOG_FACTORS.map((factors) => powers.flatMap((power) => factors.map((factor) => Number((factor * 10 ** power).toPrecision(12)))))
  const inside = all.map((ticks) => ticks.filter((tick) => tick >= low && tick <= high))
  return inside.reverse().find((ticks) => ticks.length <= count) ?? inside[inside.length - 1]
}
/** All in one unit, which they divide into halves at the finest. */
export function timeTexts(ticks: number[]): string[] {
  const largest = Math.max(...ticks.map(Math.abs), 0)
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : largest
  const isRound = (size: number) => Math.abs((step / size) * 2 - Math.round((step / size) * 2)) < 1e-6
  const unit = UNITS.find((each) => largest >= each[2] && isRound(each[0])) ?? UNITS[UNITS.length - 1]
  return ticks.map((tick) => (tick === 0 ? '0' : `${digits(tick / unit[0])} ${unit[1]}`))
}

/** Seconds since something began. */
export const elapsedAxis = (low: number, high: number): Axis => ({ low, high, ticks: (from, to, count) => linearTicks(from, to, count, true), texts: timeTexts })
export const countAxis = (high: number): Axis => ({ low: 0, high, ticks: (from, to, count) => linearTicks(from, to, count).filter(Number.isInteger), texts: (ticks) => ticks.map(String) })
export const shareAxis: Axis = { low: 0, high: 1, ticks: () => [0, 0.25, 0.5, 0.75, 1], texts: (ticks) => ticks.map(shareText) }
export const logTimeAxis = (low: number, high: number): Axis => ({ low, high, isLog: true, ticks: (from, to, count) => logTicks(from, to, count, true), texts: (ticks) => ticks.map(secondsText) })
export const logTimesAxis = (low: number, high: number): Axis => ({ low, high, isLog: true, ticks: (from, to, count) => logTicks(from, to, count), texts: (ticks) => ticks.map(timesText) })
