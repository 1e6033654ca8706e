// One job: how far it is, what it is promised, and why it has the workers it has.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { open, send } from '../api'
import { Chart } from '../chart'
import { jobHue } from '../colors'
import { useLoad, useTick } from '../load'
import { counted, countText, decimals, percent, speedAt } from '../numbers'
import { Card, Dialog, Dot, Empty, EtaBand, Failure, jobName, Link, Meter, Moment, Shown, Slack, Stat, StateBadge } from '../parts'
import { kept } from '../kept'
import { Sparkline } from '../sparkline'
import { may, store } from '../store'
import { clockText, ms, relativeText, spanText } from '../time'
import { OVER, type BlameEntry, type JobHistory, type JobStatus, type Why } from '../types'
import { Metrics } from './metrics'
import { ScaleDialog } from './scale'

const LOG_CHARACTERS = 200_000

function Logs(props: { id: string }) {
  const [text, setText] = useState('')
  const [state, setState] = useState<'reading' | 'over' | 'broken'>('reading')
  const [isFollowing, setFollowing] = useState(true)
  const box = useRef<HTMLPreElement>(null)
  useEffect(() => {
    const control = new AbortController()
    setText('')
    setState('reading')
    const read = async () => {
      try {
        const reply = await open(`/v1/jobs/${props.id}/logs?follow=1`, { signal: control.signal })
        const reader = reply.body!.pipeThrough(new TextDecoderStream()).getReader()
        for (;;) {
          const { value, done } = await reader.read()
          if (done) break
          setText((old) => (old + value).slice(-LOG_CHARACTERS))
        }
        setState('over')
      } catch (error) {
        if (!control.signal.aborted) setState('broken')
      }
    }
    void read()
    return () => control.abort()
  }, [props.id])
  useEffect(() => { if (isFollowing && box.current) box.current.scrollTop = box.current.scrollHeight }, [text, isFollowing])
  return (
    <Card title="Log" note={state === 'reading' ? 'live' : state === 'over' ? 'complete' : 'broken off'} actions={<label class="check"><input type="checkbox" checked={isFollowing} onChange={(event) => setFollowing(event.currentTarget.checked)} /> Follow</label>}>
      <pre class="log" ref={box} tabIndex={0} role="log" aria-label="Log of the job">{text || (state === 'reading' ? 'Nothing was written yet.' : 'Nothing was written.')}</pre>
    </Card>
  )
}

function Curves(props: { job: JobStatus; history: JobHistory }) {
  const { history } = props
  const data = useMemo(() => {
    const points = history.points
    const times = points.map((each) => ms(each.at) / 1000)
    return {
      times,
      speed: [
        { label: 'Predicted', values: points.map((each) => (each.workers ? speedAt(history.speeds, each.workers) || null : null)), tone: 'muted' as const, dash: true, steps: true },
        { label: 'Steps per second', values: points.map((each) => each.steps_per_second || null), tone: 'accent' as const },
      ],
      loss: [{ label: 'Loss', values: points.map((each) => each.loss || null), tone: 'warm' as const }],
      steps: [{ label: 'Steps', values: points.map((each) => each.done), tone: 'good' as const, fill: true }],
      workers: [{ label: 'Workers', values: points.map((each) => each.workers), tone: 'accent' as const, steps: true, fill: true }],
      hasLoss: points.some((each) => each.loss),
    }
  }, [history])
  if (data.times.length < 2) return <Card title="Speed against prediction"><Empty title="No report yet">The curves begin when workers report.</Empty></Card>
  return (
    <div class="grid two even">
      <Card title="Speed against prediction"><Chart label="Steps per second, measured and predicted" times={data.times} lines={data.speed} /></Card>
      <Card title="Workers"><Chart label="Workers over time" times={data.times} lines={data.workers} /></Card>
      <Card title="Steps"><Chart label="Steps done over time" times={data.times} lines={data.steps} /></Card>
      {data.hasLoss
        ? <Card title="Loss"><Chart label="Loss over time" times={data.times} lines={data.loss} /></Card>
        : <Generations history={history} />}
      {data.hasLoss && <Generations history={history} />}
    </div>
  )
}

function Generations(props: { history: JobHistory }) {
  const all = [...props.history.generations].reverse()
  return (
    <Card title="Generations" note="each change of workers, and how long training paused for it">
      {all.length === 0 ? <Empty title="None yet" /> : (
        <div class="scroll-box" tabIndex={0} role="region" aria-label="Generations">
          <table>
            <thead><tr><th scope="col">Since</th><th scope="col">Workers</th><th scope="col">Pause</th></tr></thead>
            <tbody>{all.map((each) => <tr key={each.at}><td>{clockText(ms(each.at))}</td><td>{each.workers}</td><td>{each.pause_seconds > 0 ? `${decimals(each.pause_seconds, 2)} s` : '–'}</td></tr>)}</tbody>
          </table>
        </div>
      )}
    </Card>
  )
}

function Seats(props: { job: JobStatus }) {
  const nodes = new Map<string, string[]>()
  for (const slot of props.job.slots) {
    const cut = slot.lastIndexOf('/')
    nodes.set(slot.slice(0, cut), [...(nodes.get(slot.slice(0, cut)) ?? []), slot.slice(cut + 1)])
  }
  if (nodes.size === 0) return <Empty title={OVER.has(props.job.state) ? 'It holds no slots any more' : 'It holds no slots now'} />
  return (
    <ul class="seats">
      {[...nodes].map(([node, slots]) => (
        <li key={node}><Link to="/nodes" class="strong">{node}</Link>
          <span class="seat-row">{slots.map((slot) => <i key={slot} class="seat" style={{ background: `hsl(${jobHue(props.job.id)} 50% 55%)` }} title={`slot ${slot}`} />)}</span>
          <span class="muted small">{slots.length === 1 ? `slot ${slots[0]}` : `slots ${slots.join(', ')}`}</span>
        </li>
      ))}
    </ul>
  )
}

function Reasons(props: { why?: Why; blame?: BlameEntry[] }) {
  const { why, blame } = props
  return (
    <>
      {why && (
        <div class="why">
          {why.standing && <p><strong>{why.standing}</strong></p>}
          {why.binding && <p>{why.binding}</p>}
          {why.remedy && <p class="muted">{why.remedy}</p>}
        </div>
      )}
      {blame && blame.length > 0 ? (
        <ol class="blame" aria-label="Changes of its workers">
          {[...blame].reverse().slice(0, 30).map((entry, i) => (
            <li key={i}>
              <span class={`change ${entry.workers_after > entry.workers_before ? 'up' : 'down'}`}>{entry.workers_before} → {entry.workers_after}</span>
              <span>{entry.cause || 'no cause told'}</span>
              <time class="muted small" dateTime={entry.at}>{clockText(ms(entry.at))}</time>
            </li>
          ))}
        </ol>
      ) : <p class="muted">Its workers have not changed yet.</p>}
    </>
  )
}

function CancelDialog(props: { job: JobStatus; onClose: () => void }) {
  const [error, setError] = useState<Error>()
  const cancel = async () => {
    try {
      store.take([await send<JobStatus>('POST', `/v1/jobs/${props.job.id}/cancel`)])
      props.onClose()
    } catch (failure) { setError(failure as Error) }
  }
  return (
    <Dialog title={`Cancel ${jobName(props.job)}?`} onClose={props.onClose}>
      <p>It has done {percent(props.job.steps_done, props.job.steps_total)} of its steps. A cancelled job does not come back.</p>
      {error && <Failure error={error} />}
      <footer class="dialog-foot"><button onClick={props.onClose}>Keep it</button><button class="danger" onClick={cancel}>Cancel the job</button></footer>
    </Dialog>
  )
}

export function JobPage(props: { id: string }) {
  const { id } = props
  const now = useTick(1000)
  const isMine = (event: { job: string }) => event.job === id
  const [dialog, setDialog] = useState<'' | 'scale' | 'cancel'>('')
  const job = useLoad<JobStatus>(`/v1/jobs/${encodeURIComponent(id)}`, { every: 2500, on: isMine, pause: 300 })
  const isActive = !job.data || !OVER.has(job.data.state)
  const history = useLoad<JobHistory>(job.data && `/v1/jobs/${id}/history`, { every: isActive ? 5000 : undefined, on: isMine })
  const why = useLoad<Why>(job.data && `/v1/jobs/${id}/why`, { on: isMine, pause: 1500 })
  const blame = useLoad<{ entries: BlameEntry[] }>(job.data && `/v1/jobs/${id}/blame`, { on: isMine, pause: 1500 })
  if (job.error && !job.data) {
    return <div class="page"><h1>Job {id}</h1><div class="card"><Empty title={(job.error as { status?: number }).status === 404 ? 'There is no such job' : 'It cannot be shown'}>{job.error.message}</Empty></div></div>
  }
  return (
    <div class="page">
      <Shown of={job} lines={6}>
        {(data) => (
          <>
            <div class="page-head">
              <div>
                <p class="crumbs"><Link to="/jobs">Jobs</Link> / {data.id}</p>
                <h1 class="job-title"><Dot job={data.id} /> {jobName(data)} <StateBadge state={data.state} /></h1>
                <p class="muted">{data.class.replace('_', ' ')} · by {data.user}{data.spec.tenant && ` of ${data.spec.tenant}`} · submitted {relativeText(ms(data.submitted), now)}{data.spec.model && ` · model ${data.spec.model}`}</p>
              </div>
              {may('user') && !OVER.has(data.state) && (
                <div class="actions"><button onClick={() => setDialog('scale')}>Scale</button><button class="danger-quiet" onClick={() => setDialog('cancel')}>Cancel</button></div>
              )}
            </div>
            {data.message && OVER.has(data.state) && data.state !== 'SUCCEEDED' && <p class="refused">{data.message}</p>}
            {data.state === 'SUCCEEDED' && data.spec.until && data.steps_done < data.steps_total && <p class="muted">{data.message}</p>}
            <div class="stats">
              <Stat label="Steps" value={percent(data.steps_done, data.steps_total)} note={`${countText(data.steps_done)} of ${countText(data.steps_total)}`}><Meter value={data.steps_done} max={data.steps_total} label="Steps done" /></Stat>
              <Stat label={data.promised ? 'Promised by' : data.deadline ? 'Deadline' : 'Promise'} value={data.promised || data.deadline ? <Moment at={data.promised ?? data.deadline} /> : 'none'} note={data.promised || data.deadline ? <>{new Date(ms(data.promised ?? data.deadline)).toISOString().slice(11, 19)} UTC · <Slack job={data} /></> : 'best effort'} tone={data.missed ? 'bad' : data.at_risk ? 'warn' : undefined} />
              <Stat label={data.finished ? 'Finished' : 'Expected finish'} value={<Moment at={data.finished ?? data.eta} />} note={data.finished ? `after ${spanText(ms(data.finished) - ms(data.submitted))}` : data.eta ? <>between <EtaBand job={data} /></> : 'not known yet'} />
              <Stat label="Workers" value={data.workers} note={`${counted(data.resizes, 'change')} · ${counted(data.restarts, 'restart')}`}><Sparkline plan={data.plan} past={data.past} now={now} workers={data.workers} width={150} /></Stat>
              <Stat label="Speed" value={<>{decimals(data.steps_per_second)}<small> steps/s</small></>} note={`${(data.gpu_seconds / 3600).toFixed(2)} GPU-hours${data.loss ? ` · loss ${data.loss.toPrecision(3)}` : ''}`} />
            </div>
            {data.memory?.text && <p class="muted">Memory: {data.memory.text}</p>}
            <Shown of={history}>{(past) => <Curves job={data} history={past} />}</Shown>
            <Metrics key={data.id} job={data} />
            <div class="grid two even">
              <Card title="Why"><Reasons why={why.data} blame={blame.data?.entries} /></Card>
              <Card title="Where its workers sit"><Seats job={data} /></Card>
            </div>
            {!kept && <Logs id={data.id} />}
            {dialog === 'scale' && <ScaleDialog job={data} onClose={() => { setDialog(''); job.reload() }} />}
            {dialog === 'cancel' && <CancelDialog job={data} onClose={() => { setDialog(''); job.reload() }} />}
          </>
        )}
      </Shown>
    </div>
  )
}
