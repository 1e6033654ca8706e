// What became of each job under one policy, as a table: for those who cannot or do not want to see the
// picture of the GPUs.
import { useMemo, useState } from 'preact/hooks'
import { secondsText } from '../axes'
import { Badge } from '../parts'
import { CLASSES, outcomeOf, type Pictures, type Run } from './data'

const ROWS_MAX = 300
const OUTCOMES = { met: ['good', 'met'], missed: ['bad', 'missed'], free: ['off', 'none'] } as const

/** In the order in which they first ran; those that never did come last, by arrival. */
export function inOrderOfStart(data: Pictures, run: Run): number[] {
  const start = (job: number) => (run.start[job] < 0 ? Infinity : run.start[job])
  return data.jobs.name.map((_, job) => job).sort((a, b) => (start(a) === start(b) ? 0 : start(a) - start(b)) || data.jobs.arrival[a] - data.jobs.arrival[b] || a - b)
}

export function JobTable(props: { data: Pictures; run: Run }) {
  const { data, run } = props
  const [isOpen, setOpen] = useState(false)
  const jobs = useMemo(() => (isOpen ? inOrderOfStart(data, run) : []), [isOpen, data, run])
  const moment = (ticks: number) => (ticks < 0 ? '–' : secondsText(ticks * data.tick))
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>The jobs as a table</summary>
      <div class="scroll-box" tabIndex={0} role="region" aria-label="Jobs as a table">
        <table class="numbers job-table">
          <thead><tr>{['Job', 'Class', 'Arrival', 'First run', 'Finish', 'Promised', 'Deadline', 'Resizes'].map((head) => <th key={head} scope="col">{head}</th>)}</tr></thead>
          <tbody>
            {jobs.slice(0, ROWS_MAX).map((job) => {
              const [tone, words] = OUTCOMES[outcomeOf(data, run, job)]
              return (
                <tr key={job}>
                  <th scope="row">{data.jobs.name[job]}</th><td>{CLASSES[data.jobs.class[job]]}</td><td>{moment(data.jobs.arrival[job])}</td><td>{moment(run.start[job])}</td><td>{moment(run.finish[job])}</td>
                  <td>{moment(run.promised[job])}</td><td>{moment(data.jobs.deadline[job])} <Badge tone={tone}>{words}</Badge></td><td>{run.resizes[job]}</td>
                </tr>
              )
            })}
          </tbody>
        </table>
        {jobs.length > ROWS_MAX && <p class="muted small">The first {ROWS_MAX} of {jobs.length} jobs.</p>}
      </div>
    </details>
  )
}
