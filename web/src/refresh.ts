// Which jobs to ask for again. A platform may have more jobs waiting than one answer holds: they are
// asked for page by page, a page at each turn; who trains, and who events spoke of, at every turn.
import { OVER, type JobList, type JobStatus } from './types'

/** Where the next page of the jobs that are not over begins; pages go from new to old. */
export interface Cursor { token: string; below: number }

export const FIRST_PAGE: Cursor = { token: '', below: Infinity }

export const nextPage = (page: JobList): Cursor =>
  page.next_page_token ? { token: page.next_page_token, below: Number(page.jobs[page.jobs.length - 1].id) } : FIRST_PAGE

/** Besides those on the page: the changed, those that train, and those that should be on it and are not, for they are over. */
export function toAskFor(changed: Iterable<string>, known: Iterable<JobStatus>, from: Cursor, page: JobList): string[] {
  const found = new Set(page.jobs.map((job) => job.id))
  const wanted = new Set(changed)
  const next = nextPage(page)
  const oldest = next === FIRST_PAGE ? 0 : next.below
  for (const job of known) {
    const belongs = Number(job.id) < from.below && Number(job.id) >= oldest
    if (!OVER.has(job.state) && (belongs || job.workers > 0)) wanted.add(job.id)
  }
  return [...wanted].filter((id) => !found.has(id))
}
