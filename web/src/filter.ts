// Which jobs a reader wants to see, and in what order.
import { slackOf } from './parts'
import { OVER, type JobStatus } from './types'

export interface JobFilter { text: string; state: string; class: string; tenant: string; order: string }
export const NO_FILTER: JobFilter = { text: '', state: '', class: '', tenant: '', order: 'newest' }

export function matches(job: JobStatus, filter: JobFilter): boolean {
  if (filter.state === 'active' ? OVER.has(job.state) : filter.state === 'over' ? !OVER.has(job.state) : filter.state && job.state !== filter.state) return false
  if (filter.class && job.class !== filter.class) return false
  if (filter.tenant && job.spec.tenant !== filter.tenant) return false
  if (!filter.text) return true
  const text = filter.text.toLowerCase()
  return job.id === text || job.spec.name.toLowerCase().includes(text) || job.user.toLowerCase().includes(text) || job.spec.model.toLowerCase().includes(text)
}

const later = (value: number) => (Number.isFinite(value) ? value : Infinity)

export function arranged(jobs: Iterable<JobStatus>, filter: JobFilter): JobStatus[] {
  const found = [...jobs].filter((job) => matches(job, filter))
  const byId = (a: JobStatus, b: JobStatus) => Number(b.id) - Number(a.id)
  const orders: Record<string, (a: JobStatus, b: JobStatus) => number> = {
    newest: byId,
    slack: (a, b) => Number(OVER.has(a.state)) - Number(OVER.has(b.state)) || later(slackOf(a)) - later(slackOf(b)) || byId(a, b),
    progress: (a, b) => b.steps_done / b.steps_total - a.steps_done / a.steps_total || byId(a, b),
    workers: (a, b) => b.workers - a.workers || byId(a, b),
  }
  return found.sort(orders[filter.order] ?? byId)
}

/** The rows in sight, with a few beyond. */
export function inSight(count: number, scroll: number, height: number, row: number): { first: number; last: number } {
  const first = Math.max(0, Math.floor(scroll / row) - 6)
  const last = Math.min(count, Math.ceil((scroll + height) / row) + 6)
  return { first: Math.min(first, count), last }
}
