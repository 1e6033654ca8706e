// What a scale would do, from the platform's answer to the words of the dialog.
import { ms } from './time'
import type { WhatIfJob, WhatIfReply } from './types'

const WORKERS_MAX = 65_536
const MOVE_MS = 1000 // Plays are no more exact than that.

export interface Limits { min: number; max: number }
export interface LimitProblem { field: 'min' | 'max'; text: string }

/** Fields as they are written; an empty one is no limit. */
export function limitsOf(min: string, max: string): { limits?: Limits; problem?: LimitProblem } {
  const numbers: Limits = { min: 0, max: 0 }
  for (const [field, text] of [['min', min.trim()], ['max', max.trim()]] as const) {
    if (text === '') continue
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < 1 || value > WORKERS_MAX) return { problem: { field, text: `A whole number from 1 to ${WORKERS_MAX}` } }
    numbers[field] = value
  }
  if (numbers.max && numbers.min > numbers.max) return { problem: { field: 'max', text: `Not less than ${numbers.min}` } }
  return { limits: numbers }
}

/** Milliseconds that the finish moves; Infinity: it would not end any more. */
export function moveOf(job: WhatIfJob): number {
  if (!job.finish_now || !job.finish_then) return job.finish_now ? Infinity : job.finish_then ? -Infinity : 0
  const move = ms(job.finish_then) - ms(job.finish_now)
  return Math.abs(move) > MOVE_MS ? move : 0
}

export const wouldBreak = (job: WhatIfJob) => job.promise_then === 'broken' && job.promise_now !== 'broken'

export interface ScaleDelta {
  job?: WhatIfJob
  hurt: WhatIfJob[] // Others that would end later, the worst first.
  helped: WhatIfJob[]
  later: number // With those whose names we may not know.
  earlier: number
  broken: number
  hidden: number
}

export function deltaOf(reply: WhatIfReply, id: string): ScaleDelta {
  const others = reply.jobs.filter((each) => each.job !== id)
  const worst = (a: WhatIfJob, b: WhatIfJob) => Number(wouldBreak(b)) - Number(wouldBreak(a)) || moveOf(b) - moveOf(a) || Number(a.job) - Number(b.job)
  const hurt = others.filter((each) => moveOf(each) > 0 || wouldBreak(each)).sort(worst)
  const helped = others.filter((each) => moveOf(each) < 0)
  return {
    job: reply.jobs.find((each) => each.job === id), hurt, helped,
    later: hurt.length + reply.hidden_later, earlier: helped.length + reply.hidden_earlier,
    broken: hurt.filter(wouldBreak).length + reply.hidden_broken, hidden: reply.hidden_later,
  }
}

/** `1.5 GPU-hours`, `12 GPU-minutes`: with the digits that matter. */
export function gpuTimeText(hours: number): string {
  const text = (value: number) => value.toFixed(value < 10 ? 1 : 0)
  return Math.abs(hours) < 1 ? `${text(Math.abs(hours) * 60)} GPU-minutes` : `${text(Math.abs(hours))} GPU-hours`
}
