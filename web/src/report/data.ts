// What `rubato sim --html` puts into the page (src/rubato/report/html_data.h says how it is written).
import type { Outcome } from '../colors'

export interface Cell { value: number; text: string; half?: number; plus_minus?: string; best?: boolean; apart?: boolean }
/** A policy that failed has no cells, a number it does not have is null. */
export interface Row { policy: string; failure?: string; cells: (Cell | null)[] }
/** Rows that may be compared with each other. */
export interface Group { title: string; trace: string; noise: number; relative: boolean; rows: Row[] }
export interface Column { group: string; title: string; unit: string; meaning: string; better: number }
export interface Comparison { columns: Column[]; groups: Group[]; seeds: number; comparable_share: number }

/** Times are whole ticks since the start, -1 is never; lists of a run go with those of the jobs. */
export interface Run {
  policy: string; row: number; jct: [number[], number[]]; slowdown: [number[], number[]]
  used: number[]; due: number[]; met: number[]
  start: number[]; finish: number[]; promised: number[]; resizes: number[]
  rects: number[]; left_out: number
}
export interface Pictures {
  tick: number; span: number; gpus: number; nodes: [name: string, first: number, gpus: number][]
  jobs: { name: string[]; class: number[]; arrival: number[]; deadline: number[] }
  runs: Run[]
}
export interface ReportData {
  kind: 'comparison' | 'tournament'; title: string; facts: [name: string, value: string][]; command: string
  provenance: string[]; comparison: Comparison; pictures?: Pictures
}

export const BEST_EFFORT = 2
export const CLASSES = ['slo', 'soft', 'best effort']

export function outcomeOf(data: Pictures, run: Run, job: number): Outcome {
  const deadline = data.jobs.deadline[job]
  if (deadline === undefined || deadline < 0 || data.jobs.class[job] === BEST_EFFORT) return 'free'
  return run.finish[job] >= 0 && run.finish[job] <= deadline ? 'met' : 'missed'
}

/** Who held GPUs [first, first + count) in [from, to), in ticks. */
export interface Held { job: number; from: number; to: number; first: number; count: number }
export function heldOf(run: Run): Held[] {
  const all: Held[] = []
  let from = 0
  for (let at = 0; at + 4 < run.rects.length; at += 5) {
    const [job, step, length, first, count] = run.rects.slice(at, at + 5)
    from += step
    all.push({ job, from, to: from + length, first, count })
  }
  return all
}

/** A promise and by how many seconds it was kept; those of jobs that did not finish have no slack. */
export interface PromiseKept { job: number; promised: number; slack: number | null }
export function promisesOf(data: Pictures, run: Run): PromiseKept[] {
  return run.promised.flatMap((promised, job) => (promised < 0 ? [] : [{
    job, promised: promised * data.tick, slack: run.finish[job] < 0 ? null : (promised - run.finish[job]) * data.tick,
  }]))
}
export const isKept = (promise: PromiseKept) => promise.slack !== null && promise.slack >= 0

/** The index of the last x that is not beyond `value`, or -1; `xs` rises. */
export function lastNotAbove(xs: number[], value: number): number {
  let low = 0
  let high = xs.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (xs[middle] <= value) low = middle + 1
    else high = middle
  }
  return low - 1
}
/** What share of the samples is not above `value`. */
export function shareAt([xs, shares]: [number[], number[]], value: number): number {
  const index = lastNotAbove(xs, value)
  return index < 0 ? 0 : shares[index]
}
