// Past and planned future of every node and job, and what would change if a node went or GPUs came.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { ApiError, send } from '../api'
import { Gantt, type GanttBar, type GanttRow, type View } from '../gantt'
import { useLoad, useTick } from '../load'
import { ratioText } from '../numbers'
import { Badge, Card, Choice, Dot, Empty, Failure, Link, Shown } from '../parts'
import { breaks, fittingView, isHurt, jobBars, jobRows, nodeBars, planData, type PlanData, type PlanJob } from '../plan_data'
import { go } from '../router'
import { may, useStore } from '../store'
import { clockText, spanText, utcText, zoneName } from '../time'
import type { FutureReply, NodeStatus, Timeline, WhatIfReply } from '../types'

const ROWS_MAX = 400
const FEW_ROWS = 10
const SPANS: [string, string, number][] = [['fit', 'Fit', 0], ['10m', '10 min', 600_000], ['1h', '1 h', 3_600_000], ['6h', '6 h', 21_600_000], ['24h', '24 h', 86_400_000]]

function Tip(props: { bar: GanttBar; data: PlanData }) {
  const { bar, data } = props
  const job = data.jobs.find((each) => each.id === bar.job)
  return (
    <>
      <strong>{job?.name ?? `job ${bar.job}`}</strong> <span class="muted">#{bar.job}</span>
      <div>{bar.lanes === 1 ? '1 worker' : `${bar.lanes} workers`}{bar.isFuture ? ', planned' : ''}</div>
      <div>{clockText(bar.from)} – {clockText(bar.to)}</div>
      {job && Number.isFinite(job.promised) && <div class={breaks(job) ? 'bad' : 'good'}>promised by {clockText(job.promised)} · {utcText(job.promised)}</div>}
    </>
  )
}

interface What { out: Set<string>; added: number }

/** Who gains and who loses, the worst first. */
function Effects(props: { data: PlanData; reply: WhatIfReply }) {
  const { reply } = props
  const jobs = new Map(props.data.jobs.map((job) => [job.id, job]))
  const rows = reply.jobs.map((each) => {
    const job = jobs.get(each.job)
    const now = each.finish_now ? Date.parse(each.finish_now) : NaN
    const then = each.finish_then ? Date.parse(each.finish_then) : NaN
    return { each, job, now, then, change: then - now }
  }).sort((a, b) => (Number.isFinite(b.change) ? b.change : Infinity) - (Number.isFinite(a.change) ? a.change : Infinity))
  const broken = rows.filter((row) => row.job && breaks(row.job) && row.each.met_now)
  const hurt = rows.filter((row) => row.change > 1000 || (Number.isFinite(row.now) && !Number.isFinite(row.then)))
  return (
    <div class="effects" role="status">
      <p>
        {broken.length > 0 ? <Badge tone="bad">{broken.length} {broken.length === 1 ? 'promise' : 'promises'} would break</Badge> : <Badge tone="good">No promise would break</Badge>}{' '}
        {hurt.length === 0 ? 'Nobody would finish later.' : `${hurt.length} of ${rows.length} jobs would finish later.`}
        <span class="muted"> Deadlines met: {ratioText(reply.deadlines_met_ratio_now)} → {ratioText(reply.deadlines_met_ratio_then)}.</span>
      </p>
      {rows.length > 0 && (
        <div class="scroll-box" tabIndex={0} role="region" aria-label="Who is hurt">
          <table>
            <thead><tr><th scope="col">Job</th><th scope="col">Finish now</th><th scope="col">Then</th><th scope="col">Change</th><th scope="col">Promise</th></tr></thead>
            <tbody>
              {rows.slice(0, 60).map(({ each, job, now, then, change }) => (
                <tr key={each.job}>
                  <td><Dot job={each.job} /> <Link to={`/jobs/${each.job}`}>{each.name || `job ${each.job}`}</Link></td>
                  <td>{clockText(now)}</td><td>{Number.isFinite(then) ? clockText(then) : 'never'}</td>
                  <td class={change > 1000 || !Number.isFinite(then) ? 'bad' : change < -1000 ? 'good' : 'muted'}>{Math.abs(change) <= 1000 ? 'none' : Number.isFinite(change) ? `${change > 0 ? '+' : '−'}${spanText(Math.abs(change))}` : 'does not end'}</td>
                  <td>{job && Number.isFinite(job.promised) ? (breaks(job) ? <Badge tone="bad">broken</Badge> : <Badge tone="good">kept</Badge>) : <span class="muted">none</span>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  )
}

function JobTable(props: { rows: PlanJob[] }) {
  return (
    <details class="as-table">
      <summary>The same as a table</summary>
      <div class="scroll-box" tabIndex={0} role="region" aria-label="Plan as a table">
        <table>
          <thead><tr><th scope="col">Job</th><th scope="col">State</th><th scope="col">Finish</th><th scope="col">Promised by</th></tr></thead>
          <tbody>
            {props.rows.slice(0, 200).map((job) => (
              <tr key={job.id}><td><Link to={`/jobs/${job.id}`}>{job.name}</Link></td><td>{job.state.toLowerCase()}</td><td class={isHurt(job) ? 'bad' : ''}>{clockText(job.finish)}</td><td>{Number.isFinite(job.promised) ? clockText(job.promised) : '–'}</td></tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  )
}

function WhatIfTray(props: { what: What; nodes: NodeStatus[]; onChange: (what: What) => void; isBusy: boolean; error?: Error }) {
  const { what, onChange } = props
  const [isOver, setOver] = useState(false)
  const put = (name: string) => onChange({ ...what, out: new Set([...what.out, name]) })
  const back = (name: string) => onChange({ ...what, out: new Set([...what.out].filter((each) => each !== name)) })
  return (
    <div
      class={`tray ${isOver ? 'is-over' : ''}`} data-testid="what-if-tray"
      onDragOver={(event) => { event.preventDefault(); setOver(true) }} onDragLeave={() => setOver(false)}
      onDrop={(event) => { event.preventDefault(); setOver(false); const name = event.dataTransfer?.getData('text/plain'); if (name && props.nodes.some((node) => node.name === name)) put(name) }}
    >
      <strong>What if</strong>
      {what.out.size === 0 ? <span class="muted">drag a node here to take it out</span> : [...what.out].map((name) => (
        <button key={name} class="chip" onClick={() => back(name)} aria-label={`Put ${name} back`}>{name} were gone <span aria-hidden="true">×</span></button>
      ))}
      <label class="inline-label"><span>Node</span>
        <select aria-label="Node" value="" onChange={(event) => { if (event.currentTarget.value) put(event.currentTarget.value); event.currentTarget.value = '' }}>
          <option value="">take out…</option>
          {props.nodes.filter((node) => node.up && !what.out.has(node.name)).map((node) => <option key={node.name} value={node.name}>{node.name}</option>)}
        </select>
      </label>
      <span class="stepper">
        <button aria-label="Fewer added GPUs" disabled={what.added === 0} onClick={() => onChange({ ...what, added: Math.max(0, what.added - 4) })}>−</button>
        <output aria-live="polite">+{what.added} GPUs</output>
        <button aria-label="More added GPUs" onClick={() => onChange({ ...what, added: what.added + 4 })}>+</button>
      </span>
      {(what.out.size > 0 || what.added > 0) && <button class="quiet" onClick={() => onChange({ out: new Set(), added: 0 })}>As it is</button>}
      {props.isBusy && <span class="muted small" role="status">playing it on…</span>}
      {props.error && <Failure error={props.error} />}
    </div>
  )
}

export function Plan() {
  const store = useStore()
  const clock = useTick(1000)
  const from = useMemo(() => new Date(Date.now() - 86_400_000).toISOString(), [])
  const changes = (event: { type: string }) => event.type.startsWith('job.') || event.type.startsWith('node.') || event.type.startsWith('policy.')
  const timeline = useLoad<Timeline>(`/v1/timeline?from=${from}`, { every: 15_000, on: changes, pause: 1200 })
  const future = useLoad<FutureReply>('/v1/future', { every: 15_000, on: changes, pause: 1500 })
  const nodes = useLoad<{ nodes: NodeStatus[] }>('/v1/nodes', { on: (event) => event.type.startsWith('node.') })
  const [by, setBy] = useState<'node' | 'job'>('node')
  const [span, setSpan] = useState('fit')
  const [view, setView] = useState<View>()
  const [focus, setFocus] = useState('')
  const [what, setWhat] = useState<What>({ out: new Set(), added: 0 })
  const [reply, setReply] = useState<WhatIfReply>()
  const [error, setError] = useState<Error>()
  const [isBusy, setBusy] = useState(false)
  const asked = useRef(0)

  const isChanged = what.out.size > 0 || what.added > 0
  useEffect(() => {
    const mine = ++asked.current
    setError(undefined)
    if (!isChanged) { setReply(undefined); setBusy(false); return }
    setBusy(true)
    const timer = setTimeout(() => {
      send<WhatIfReply>('POST', '/v1/what-if', { add_gpus: what.added, remove_nodes: [...what.out] }).then(
        (answer) => { if (mine === asked.current) { setReply(answer); setBusy(false) } },
        (failure: ApiError) => { if (mine === asked.current) { setError(failure); setReply(undefined); setBusy(false) } },
      )
    }, 250)
    return () => clearTimeout(timer)
  }, [what, future.data])

  const data = useMemo(() => {
    if (!timeline.data || !nodes.data) return undefined
    return planData(timeline.data, future.data, nodes.data.nodes, store.jobs, { ...what, reply: isChanged ? reply : undefined })
  }, [timeline.data, future.data, nodes.data, what, reply, store.jobs.size])

  const shown: View = useMemo(() => {
    if (view) return view
    if (!data) return { from: clock - 600_000, to: clock + 600_000 }
    const width = SPANS.find(([key]) => key === span)?.[2] ?? 0
    return width ? { from: data.now - width / 2, to: data.now + width / 2 } : fittingView(data)
  }, [view, data, span])

  return (
    <div class="page">
      <div class="page-head">
        <div><h1>Plan</h1><p class="muted">What ran, what will run, and what was promised. Times in {zoneName()}.</p></div>
        <div class="actions wrap">
          <Choice label="Rows" value={by} options={[['node', 'By node'], ['job', 'By job']]} onChange={setBy} />
          <Choice label="Time shown" value={view ? '' : span} options={SPANS.map(([key, label]): [string, string] => [key, label])} onChange={(key) => { setSpan(key); setView(undefined) }} />
        </div>
      </div>
      {may('admin') && nodes.data && <WhatIfTray what={what} nodes={nodes.data.nodes} onChange={setWhat} isBusy={isBusy} error={error} />}
      {timeline.error || nodes.error ? <Failure error={(timeline.error ?? nodes.error)!} retry={() => { timeline.reload(); nodes.reload() }} /> : (
        <Shown of={{ data, isLoading: !data, reload: timeline.reload }} lines={8}>
          {(plan) => {
            const rows = jobRows(plan, shown.from, shown.to).slice(0, ROWS_MAX)
            const ofJobs = by === 'job' ? jobBars(plan, rows) : undefined
            const ganttRows: GanttRow[] = by === 'node'
              ? plan.nodes.map((node) => ({
                key: node.name, lanes: node.slots, height: Math.max(24, Math.min(node.slots * 9, 120)), isOut: node.isOut || !node.isUp,
                label: (
                  <span class="node-label" draggable={!node.isAdded} title="Drag to the tray to see who would be hurt" onDragStart={(event) => event.dataTransfer?.setData('text/plain', node.name)}>
                    <strong>{node.isAdded ? 'added' : node.name}</strong><span class="muted small">{node.isOut ? 'taken out' : !node.isUp ? 'down' : `${node.slots} GPUs`}</span>
                  </span>
                ),
              }))
              : rows.map((job) => ({ key: job.id, lanes: ofJobs!.lanes, height: rows.length <= FEW_ROWS ? 44 : 26, label: <span class="job-label"><Dot job={job.id} /><Link to={`/jobs/${job.id}`}>{job.name}</Link></span> }))
            const isEmpty = plan.past.length === 0 && plan.future.length === 0
            return (
              <Card title={by === 'node' ? 'Nodes' : 'Jobs'} note={isChanged && reply ? 'the future as changed' : undefined} actions={(
                <ul class="legend inline"><li><i class="swatch solid" aria-hidden="true" />was</li><li><i class="swatch faded" aria-hidden="true" />planned</li>{by === 'job' && <li><i class="swatch flag" aria-hidden="true" />promised finish</li>}</ul>
              )}>
                {isEmpty && by === 'job' ? <Empty title="Nothing ran and nothing is planned">Submit a job to see its future here.</Empty> : (
                  <Gantt
                    label={by === 'node' ? 'Jobs on nodes over time' : 'Workers of jobs over time'} rows={ganttRows}
                    bars={by === 'node' ? nodeBars(plan) : ofJobs!.bars} marks={ofJobs?.marks} view={shown} now={Math.max(plan.now, Math.min(clock, plan.now + 20_000))}
                    focus={focus} tip={(bar) => <Tip bar={bar} data={plan} />} onView={setView}
                    onPick={(job) => { if (focus === job) go(`/jobs/${job}`); else setFocus(job) }}
                  />
                )}
                <p class="muted small">
                  {focus ? <>Showing job {focus}; <Link to={`/jobs/${focus}`}>open it</Link> or <button class="quiet" onClick={() => setFocus('')}>show all</button>. </> : 'Click a bar to single out its job. '}
                  Drag to move, Ctrl and wheel to zoom. The future is the simulator’s, by the live policy; which slots is a projection.
                  {timeline.data?.truncated && ' The oldest part of the past is no longer kept.'}
                </p>
                {isChanged && reply && <Effects data={plan} reply={reply} />}
                <JobTable rows={rows} />
              </Card>
            )
          }}
        </Shown>
      )}
    </div>
  )
}
