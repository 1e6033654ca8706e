// All jobs. Only the rows in sight are drawn, so ten thousand scroll as ten do.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { arranged, inSight, NO_FILTER, type JobFilter } from '../filter'
import { useTick } from '../load'
import { countText } from '../numbers'
import { Dot, Empty, EtaBand, jobName, Link, Loading, Meter, Slack, StateBadge, stateText } from '../parts'
import { Sparkline } from '../sparkline'
import { may, useStore } from '../store'
import type { JobStatus } from '../types'
import { SubmitDialog } from './submit'

const ROW = 52
const STATES = ['PENDING', 'PROFILING', 'ADMITTED', 'STARTING', 'RUNNING', 'RESIZING', 'SUSPENDED', 'RECOVERING', 'SUCCEEDED', 'FAILED', 'CANCELLED', 'REJECTED']

function Row(props: { job: JobStatus; now: number; index: number }) {
  const { job, now } = props
  return (
    <tr aria-rowindex={props.index + 2} class="job-row">
      <td>
        <div class="cell-name">
          <Dot job={job.id} />
          <span class="name-lines">
            <Link to={`/jobs/${job.id}`} class="strong">{jobName(job)}</Link>
            <span class="muted small">#{job.id} · {job.user}{job.spec.tenant && ` · ${job.spec.tenant}`}</span>
          </span>
        </div>
      </td>
      <td><StateBadge state={job.state} /></td>
      <td class="hide-small muted">{job.class.replace('_', ' ')}</td>
      <td class="hide-small">
        <div class="progress-cell">
          <Meter value={job.steps_done} max={job.steps_total} label={`Progress of ${jobName(job)}`} />
          <span class="small muted">{countText(job.steps_done)} / {countText(job.steps_total)}</span>
        </div>
      </td>
      <td class="hide-small"><span class="workers">{job.workers}</span> <Sparkline plan={job.plan} past={job.past} now={now} workers={job.workers} /></td>
      <td><Slack job={job} /></td>
      <td class="hide-small"><EtaBand job={job} /></td>
    </tr>
  )
}

function Filters(props: { filter: JobFilter; tenants: string[]; onChange: (filter: JobFilter) => void; shown: number; all: number; isComplete: boolean }) {
  const { filter, onChange } = props
  const select = (key: keyof JobFilter, label: string, options: [string, string][]) => (
    <label class="inline-label"><span>{label}</span>
      <select aria-label={label} value={filter[key]} onChange={(event) => onChange({ ...filter, [key]: event.currentTarget.value })}>
        {options.map(([value, text]) => <option key={value} value={value}>{text}</option>)}
      </select>
    </label>
  )
  return (
    <div class="filters" role="search">
      <label class="inline-label grow"><span>Search</span>
        <input type="search" placeholder="name, number, user, model" value={filter.text} onInput={(event) => onChange({ ...filter, text: event.currentTarget.value })} />
      </label>
      {select('state', 'State', [['', 'any'], ['active', 'not over'], ['over', 'over'], ...STATES.map((each): [string, string] => [each, stateText(each)])])}
      {select('class', 'Class', [['', 'any'], ['slo', 'slo'], ['soft', 'soft'], ['best_effort', 'best effort']])}
      {props.tenants.length > 1 && select('tenant', 'Tenant', [['', 'any'], ...props.tenants.filter(Boolean).map((each): [string, string] => [each, each])])}
      {select('order', 'Order', [['newest', 'newest first'], ['slack', 'least slack first'], ['workers', 'most workers first'], ['progress', 'furthest first']])}
      <span class="muted small count" aria-live="polite">{props.shown === props.all ? `${countText(props.all)} jobs` : `${countText(props.shown)} of ${countText(props.all)}`}{!props.isComplete && ' · loading'}</span>
    </div>
  )
}

export function Jobs() {
  const store = useStore()
  const now = useTick(2000)
  const [filter, setFilter] = useState(NO_FILTER)
  const [isSubmitting, setSubmitting] = useState(false)
  const [scroll, setScroll] = useState(0)
  const [height, setHeight] = useState(600)
  const box = useRef<HTMLDivElement>(null)
  const jobs = useMemo(() => arranged(store.jobs.values(), filter), [store.revision, filter])
  const tenants = useMemo(() => [...new Set([...store.jobs.values()].map((job) => job.spec.tenant))].sort(), [store.revision])

  useEffect(() => {
    const element = box.current
    if (!element) return
    const observer = new ResizeObserver(() => setHeight(element.clientHeight))
    observer.observe(element)
    return () => observer.disconnect()
  }, [store.jobs.size === 0])

  const sight = inSight(jobs.length, scroll, height, ROW)
  return (
    <div class="page page-fill">
      <div class="page-head">
        <h1>Jobs</h1>
        {may('user') && <button class="primary" onClick={() => setSubmitting(true)}>Submit a job</button>}
      </div>
      <Filters filter={filter} tenants={tenants} onChange={(next) => { setFilter(next); if (box.current) box.current.scrollTop = 0 }} shown={jobs.length} all={store.jobs.size} isComplete={store.isComplete} />
      {store.jobs.size === 0 ? (
        store.isComplete ? <div class="card"><Empty title="No jobs yet">Submit one here, or with <code>rubato run --deadline 18:00 --steps 12000 -- python train.py</code>.</Empty></div> : <Loading lines={8} />
      ) : jobs.length === 0 ? (
        <div class="card"><Empty title="No job is like that"><button class="quiet" onClick={() => setFilter(NO_FILTER)}>Show all</button></Empty></div>
      ) : (
        <div class="table-box" ref={box} onScroll={() => setScroll(box.current!.scrollTop)} tabIndex={0} role="region" aria-label="Jobs">
          <table class="jobs" aria-rowcount={jobs.length + 1}>
            <thead>
              <tr aria-rowindex={1}>
                <th scope="col">Job</th><th scope="col">State</th><th scope="col" class="hide-small">Class</th><th scope="col" class="hide-small">Steps</th>
                <th scope="col" class="hide-small">Workers and plan</th><th scope="col">Deadline slack</th><th scope="col" class="hide-small">Finish</th>
              </tr>
            </thead>
            <tbody>
              {sight.first > 0 && <tr class="spacer" style={{ height: `${sight.first * ROW}px` }} aria-hidden="true"><td colSpan={7} /></tr>}
              {jobs.slice(sight.first, sight.last).map((job, i) => <Row key={job.id} job={job} now={now} index={sight.first + i} />)}
              {sight.last < jobs.length && <tr class="spacer" style={{ height: `${(jobs.length - sight.last) * ROW}px` }} aria-hidden="true"><td colSpan={7} /></tr>}
            </tbody>
          </table>
        </div>
      )}
      {isSubmitting && <SubmitDialog onClose={() => setSubmitting(false)} />}
    </div>
  )
}
