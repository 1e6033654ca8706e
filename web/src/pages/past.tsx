// Time travel: how everything stood at any instant, and what was decided then and why.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { get } from '../api'
import { kept } from '../kept'
import { useLoad } from '../load'
import { countText, percent } from '../numbers'
import { Card, Dot, Empty, Failure, jobName, Link, Loading, Meter, Stat, StateBadge } from '../parts'
import { Slots } from '../slots'
import { clockText, ms, utcText, zoneName } from '../time'
import type { Decision, PastReply } from '../types'

/** The index of the last decision until a moment; -1 before the first. */
export function lastUntil(decisions: { at: string }[], moment: number): number {
  let low = 0
  let high = decisions.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (ms(decisions[middle].at) <= moment) low = middle + 1
    else high = middle
  }
  return low - 1
}

function Density(props: { decisions: Decision[]; first: number; last: number }) {
  const bins = useMemo(() => {
    const counts = new Array(120).fill(0)
    const span = Math.max(props.last - props.first, 1)
    for (const each of props.decisions) counts[Math.min(119, Math.max(0, Math.floor((120 * (ms(each.at) - props.first)) / span)))]++
    return counts
  }, [props.decisions, props.first, props.last])
  const top = Math.max(1, ...bins)
  return (
    <svg class="density" viewBox="0 0 120 20" preserveAspectRatio="none" aria-hidden="true">
      {bins.map((count, i) => count > 0 && <rect key={i} x={i + 0.15} width={0.7} y={20 - 3 - (17 * count) / top} height={3 + (17 * count) / top} rx={0.3} />)}
    </svg>
  )
}

function DecisionCard(props: { decision?: Decision }) {
  const { decision } = props
  if (!decision) return <Card title="Decision"><Empty title="Nothing was decided yet" /></Card>
  return (
    <Card title="Decision" note={`input ${decision.sequence}`}>
      <p class="cause" data-sequence={decision.sequence}><strong>{decision.input ? decision.input.charAt(0).toUpperCase() + decision.input.slice(1) : 'Something happened'}</strong> <span class="muted small">at {clockText(ms(decision.at))}</span></p>
      {decision.events.length === 0 ? <p class="muted">Nothing was told of it.</p> : (
        <ul class="feed">
          {decision.events.map((event, i) => (
            <li key={i}><span class="feed-dot" aria-hidden="true" /><span class="feed-text">{event.job ? <Link to={`/jobs/${event.job}`}>{event.message}</Link> : event.message}<span class="muted small"> {event.type}</span></span></li>
          ))}
        </ul>
      )}
      {decision.commands.length > 0 && (
        <details><summary>{decision.commands.length} commands of the scheduler</summary><pre class="log small-log" tabIndex={0} role="region" aria-label="Commands">{decision.commands.join('\n')}</pre></details>
      )}
    </Card>
  )
}

export function Past() {
  const list = useLoad<{ decisions: Decision[]; truncated: boolean }>('/v1/decisions?limit=10000')
  const [at, setAt] = useState<string>() // RFC 3339: decisions are microseconds apart.
  const [picked, setPicked] = useState<number>()
  const [state, setState] = useState<PastReply>()
  const [error, setError] = useState<Error>()
  const [isBusy, setBusy] = useState(true)
  const [isPlaying, setPlaying] = useState(false)
  const running = useRef<AbortController>()

  useEffect(() => {
    const timer = setTimeout(() => {
      running.current?.abort()
      const control = new AbortController()
      running.current = control
      setBusy(true)
      get<PastReply>(at === undefined ? '/v1/past' : `/v1/past?at=${at}`, control.signal).then(
        (reply) => { setState(reply); setError(undefined); setBusy(false) },
        (failure) => { if (failure.name !== 'AbortError') { setError(failure); setBusy(false) } },
      )
    }, at === undefined ? 0 : 120)
    return () => clearTimeout(timer)
  }, [at])

  const decisions = list.data?.decisions ?? []
  const first = state ? ms(state.first) : decisions.length ? ms(decisions[0].at) : 0
  const last = state ? ms(state.last) : decisions.length ? ms(decisions[decisions.length - 1].at) : 1
  const moment = at === undefined ? last : ms(at)
  const index = picked ?? lastUntil(decisions, moment)
  const step = (by: number) => {
    const target = index + by
    if (!decisions[target]) return
    setPicked(target)
    setAt(decisions[target].at)
  }
  useEffect(() => {
    if (!isPlaying) return
    const timer = setInterval(() => { if (index + 1 < decisions.length) step(1); else setPlaying(false) }, 900)
    return () => clearInterval(timer)
  }, [isPlaying, index, decisions])

  const names = new Map(state?.jobs.map((job) => [job.id, jobName(job)]))
  return (
    <div class="page">
      <div class="page-head"><div><h1>Time travel</h1><p class="muted">{kept ? 'The journal replayed up to the moments that were kept.' : 'The journal replayed up to any instant.'} Times in {zoneName()}.</p></div></div>
      <Card>
        <div class="scrub">
          <div class="scrub-now"><strong data-testid="moment">{clockText(moment)}</strong> <span class="muted small">{utcText(moment)}</span>{isBusy && <span class="muted small" role="status"> replaying…</span>}{kept && state && <span class="muted small" data-testid="state-at"> as it stood at {clockText(ms(state.at))}</span>}</div>
          <div class="scrub-buttons">
            <button onClick={() => step(-1)} disabled={index <= 0} aria-label="Decision before">‹ before</button>
            <button onClick={() => setPlaying(!isPlaying)} aria-pressed={isPlaying}>{isPlaying ? 'Pause' : 'Play'}</button>
            <button onClick={() => step(1)} disabled={index + 1 >= decisions.length} aria-label="Decision after">after ›</button>
            <button class="quiet" onClick={() => { setAt(undefined); setPicked(undefined) }}>Latest</button>
          </div>
          <div class="scrub-bar">
            <Density decisions={decisions} first={first} last={last} />
            <input type="range" min={first} max={Math.max(last, first + 1)} step={1} value={moment} aria-label="Moment" aria-valuetext={clockText(moment)} onInput={(event) => { setPlaying(false); setPicked(undefined); setAt(new Date(Number(event.currentTarget.value)).toISOString()) }} />
            <div class="scrub-ends muted small"><span>{clockText(first)}</span><span>{countText(decisions.length)} decisions{list.data?.truncated && ', the oldest not kept'}</span><span>{clockText(last)}</span></div>
          </div>
        </div>
      </Card>
      {error && <Failure error={error} retry={() => setAt(new Date(moment).toISOString())} />}
      {!state ? (!error && <Loading lines={6} />) : (
        <>
          <div class="stats">
            <Stat label="GPUs in use" value={<>{state.overview.gpus_used}<small> / {state.overview.gpus}</small></>}><Meter value={state.overview.gpus_used} max={state.overview.gpus} label="GPUs in use" /></Stat>
            <Stat label="Jobs not over" value={state.jobs.length} note={`policy ${state.overview.policy}`} />
            <Stat label="Promises kept so far" value={state.overview.promises_kept} note={`${state.overview.promises_open} open · ${state.overview.promises_broken} broken`} />
            <Stat label="Nodes up" value={<>{state.overview.nodes_up}<small> / {state.overview.nodes}</small></>} />
          </div>
          <div class="grid two even">
            <DecisionCard decision={kept || picked !== undefined ? decisions[index] : state.decision} />
            <Card title="Nodes then">
              <div class="past-nodes">{state.nodes.map((node) => <div key={node.name}><span class={node.up ? '' : 'muted'}>{node.name}{!node.up && ' (down)'}</span><Slots node={node} name={(id) => names.get(id) ?? `job ${id}`} /></div>)}</div>
            </Card>
          </div>
          <Card title="Jobs then">
            {state.jobs.length === 0 ? <Empty title="No job was there" /> : (
              <div class="scroll-box" tabIndex={0} role="region" aria-label="Jobs then">
                <table>
                  <thead><tr><th scope="col">Job</th><th scope="col">State</th><th scope="col">Workers</th><th scope="col">Steps</th><th scope="col">Promised by</th><th scope="col">Expected</th></tr></thead>
                  <tbody>{state.jobs.map((job) => (
                    <tr key={job.id}><td><Dot job={job.id} /> <Link to={`/jobs/${job.id}`}>{jobName(job)}</Link></td><td><StateBadge state={job.state} /></td><td>{job.workers}</td><td>{percent(job.steps_done, job.steps_total)}</td><td>{job.promised ? clockText(ms(job.promised)) : '–'}</td><td>{job.eta ? clockText(ms(job.eta)) : '–'}</td></tr>
                  ))}</tbody>
                </table>
              </div>
            )}
          </Card>
        </>
      )}
    </div>
  )
}
