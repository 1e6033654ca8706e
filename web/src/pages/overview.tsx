// How the cluster is doing, at a glance.
import { useMemo } from 'preact/hooks'
import { Chart } from '../chart'
import { useLoad, useTick } from '../load'
import { countText, percent } from '../numbers'
import { Card, Dot, Empty, jobName, Link, Loading, Meter, Shown, Slack, Stat, stateText, stateTone } from '../parts'
import { kept } from '../kept'
import { useStore } from '../store'
import { clockText, ms, relativeText } from '../time'
import { OVER, type EventRecord, type Overview as Numbers, type Timeline } from '../types'

const ALERTS = new Set(['alarm', 'job.at_risk', 'job.deadline_missed', 'job.failed', 'node.down', 'job.recovering', 'job.refused'])
const ORDER = ['RUNNING', 'RESIZING', 'STARTING', 'PROFILING', 'RECOVERING', 'ADMITTED', 'PENDING', 'SUSPENDED', 'SUCCEEDED', 'FAILED', 'REJECTED', 'CANCELLED']

function States(props: { numbers: Numbers }) {
  const all = [...props.numbers.states].sort((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state))
  const total = all.reduce((sum, each) => sum + each.jobs, 0)
  if (total === 0) return <Empty title="No jobs yet"><Link to="/jobs">Submit the first one</Link>, or try <code>rubato run</code>.</Empty>
  return (
    <>
      <div class="stack" aria-hidden="true">
        {all.map((each) => <i key={each.state} class={`tone-${stateTone(each.state)}`} style={{ flexGrow: each.jobs }} />)}
      </div>
      <ul class="legend">
        {all.map((each) => (
          <li key={each.state}><i class={`swatch tone-${stateTone(each.state)}`} aria-hidden="true" />{stateText(each.state)} <strong>{countText(each.jobs)}</strong></li>
        ))}
      </ul>
    </>
  )
}

/** GPUs up and in use, as steps of time. */
function Utilisation(props: { timeline: Timeline; now: number }) {
  const { timeline, now } = props
  const { times, lines } = useMemo(() => {
    const points = timeline.use.map((each) => ({ at: ms(each.at) / 1000, gpus: each.gpus, used: each.used }))
    if (points.length) points.push({ ...points[points.length - 1], at: now / 1000 })
    return {
      times: points.map((each) => each.at),
      lines: [
        { label: 'GPUs up', values: points.map((each) => each.gpus), tone: 'muted' as const, steps: true, dash: true },
        { label: 'GPUs in use', values: points.map((each) => each.used), tone: 'accent' as const, steps: true, fill: true },
      ],
    }
  }, [timeline, Math.floor(now / 5000)])
  if (times.length < 2) return <Empty title="Nothing has run yet">The chart begins with the first job.</Empty>
  return <Chart label="GPUs up and in use over the last day" times={times} lines={lines} height={300} />
}

function wordsOf(event: EventRecord): string {
  const words = event.message || event.type
  return event.job && !words.includes('job ') ? `job ${event.job}: ${words}` : words
}

function Feed(props: { events: EventRecord[]; now: number; empty: string }) {
  if (props.events.length === 0) return <Empty title={props.empty} />
  return (
    <ul class="feed">
      {props.events.map((event) => (
        <li key={event.sequence}>
          <span class={`feed-dot ${ALERTS.has(event.type) ? 'bad' : ''}`} aria-hidden="true" />
          <span class="feed-text">{event.job ? <Link to={`/jobs/${event.job}`}>{wordsOf(event)}</Link> : wordsOf(event)}</span>
          <time class="muted small" dateTime={event.at} title={clockText(ms(event.at))}>{relativeText(ms(event.at), props.now)}</time>
        </li>
      ))}
    </ul>
  )
}

export function Overview() {
  const store = useStore()
  const now = useTick(1000)
  const numbers = useLoad<Numbers>('/v1/overview', { every: 10_000, on: () => true, pause: 1000 })
  const from = useMemo(() => new Date(Date.now() - 86_400_000).toISOString(), [])
  const timeline = useLoad<Timeline>(`/v1/timeline?from=${from}`, { every: 30_000, on: (event) => event.type.startsWith('job.') || event.type.startsWith('node.'), pause: 3000 })
  // A job that is on time again is no alert any more.
  const isOpen = (event: EventRecord) => event.type !== 'job.at_risk' || store.jobs.get(event.job)?.at_risk
  const alerts = store.events.filter((event) => ALERTS.has(event.type) && isOpen(event)).slice(0, 8)
  const next = [...store.jobs.values()]
    .filter((job) => job.promised && !OVER.has(job.state))
    .sort((a, b) => ms(a.promised) - ms(b.promised)).slice(0, 7)
  return (
    <div class="page">
      <h1>Overview</h1>
      <Shown of={numbers} lines={2}>
        {(data) => {
          const due = data.promises_kept + data.promises_broken
          const running = data.states.filter((each) => ['RUNNING', 'RESIZING', 'STARTING', 'PROFILING', 'RECOVERING'].includes(each.state)).reduce((sum, each) => sum + each.jobs, 0)
          const waiting = data.states.filter((each) => ['PENDING', 'ADMITTED', 'SUSPENDED'].includes(each.state)).reduce((sum, each) => sum + each.jobs, 0)
          const hours = data.gpu_hours_useful + data.gpu_hours_lost + data.gpu_hours_idle
          return (
            <>
              <div class="stats">
                <Stat label="GPUs in use" value={<>{data.gpus_used}<small> / {data.gpus}</small></>} note={`${data.nodes_up} of ${data.nodes} nodes up`}>
                  <Meter value={data.gpus_used} max={data.gpus} label="GPUs in use" />
                </Stat>
                <Stat label="Promises kept" value={due ? percent(data.promises_kept, due) : '–'} tone={data.promises_broken ? 'bad' : due ? 'good' : undefined} note={due ? `${data.promises_kept} of ${due} due so far` : 'none were due yet'} />
                <Stat label="Promises open" value={data.promises_open} tone={data.at_risk ? 'warn' : undefined} note={data.at_risk ? `${data.at_risk} at risk` : 'all on time'} />
                <Stat label="Jobs training" value={running} note={`${waiting} waiting`} />
                <Stat label="GPU time put to use" value={percent(data.gpu_hours_useful, hours)} note={`${data.gpu_hours_useful.toFixed(1)} h useful · ${data.gpu_hours_lost.toFixed(1)} h lost · ${data.gpu_hours_idle.toFixed(1)} h idle`} />
              </div>
              <div class="grid two">
                <Card title="GPUs over the last day" class="wide">
                  <Shown of={timeline}>{(past) => <Utilisation timeline={past} now={now} />}</Shown>
                </Card>
                <Card title="Jobs by state"><States numbers={data} /></Card>
                <Card title="Next promises" actions={<Link class="quiet-link" to="/plan">Plan</Link>}>
                  {next.length === 0 ? <Empty title="No promise is open" /> : (
                    <ul class="feed">
                      {next.map((job) => (
                        <li key={job.id}>
                          <Dot job={job.id} />
                          <span class="feed-text"><Link to={`/jobs/${job.id}`}>{jobName(job)}</Link></span>
                          <Slack job={job} />
                          <time class="muted small" dateTime={job.promised}>{relativeText(ms(job.promised), now)}</time>
                        </li>
                      ))}
                    </ul>
                  )}
                </Card>
              </div>
            </>
          )
        }}
      </Shown>
      <div class="grid two even">
        <Card title="Alerts">{store.isComplete || store.events.length ? <Feed events={alerts} now={now} empty="All is well" /> : <Loading />}</Card>
        <Card title="What happened" actions={!kept && <Link class="quiet-link" to="/past">Time travel</Link>}>
          {store.isComplete || store.events.length ? <Feed events={store.events.slice(0, 9)} now={now} empty="Nothing happened yet" /> : <Loading />}
        </Card>
      </div>
    </div>
  )
}
