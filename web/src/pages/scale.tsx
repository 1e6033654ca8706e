// Limits for a job's workers, and what they would do before they are set: to the job, its promise
// and everybody else. The platform plays both futures.
import { useState } from 'preact/hooks'
import { ApiError, send } from '../api'
import { useLastQuestion, type Asked } from '../last_question'
import { counted } from '../numbers'
import { Badge, Dialog, Dot, Failure, Field, jobName, Link, Moment } from '../parts'
import { deltaOf, gpuTimeText, limitsOf, moveOf, wouldBreak, type Limits, type ScaleDelta } from '../scale_delta'
import { Sparkline } from '../sparkline'
import { store } from '../store'
import { clockText, ms, spanText } from '../time'
import type { JobStatus, SubmitReply, WhatIfJob, WhatIfReply } from '../types'

const HURT_SHOWN = 6
const PROMISES: Record<string, [tone: string, text: string]> = {
  kept: ['good', 'kept'], at_risk: ['warn', 'at risk'], broken: ['bad', 'broken'],
}

function Move(props: { job: WhatIfJob }) {
  const move = moveOf(props.job)
  if (move === 0) return <span class="muted">no difference</span>
  if (move === Infinity) return <span class="bad">would not end</span>
  if (move === -Infinity) return <span class="good">would end</span>
  return <span class={move > 0 ? 'bad' : 'good'}>{spanText(Math.abs(move))} {move > 0 ? 'later' : 'earlier'}</span>
}

function PromiseWords(props: { job: WhatIfJob }) {
  const [now, then] = [props.job.promise_now, props.job.promise_then]
  const [tone, text] = PROMISES[then] ?? ['wait', 'none']
  return <>{now !== then && `${PROMISES[now]?.[1] ?? 'none'} → `}<Badge tone={tone}>{text}</Badge></>
}

function hoursChange(job: WhatIfJob): string {
  const change = job.gpu_hours_then - job.gpu_hours_now
  if (Math.abs(change) * 60 < 0.05) return 'no difference'
  return `${gpuTimeText(change)} ${change > 0 ? 'more' : 'less'}`
}

/** In one sentence, which is also what a screen reader is told. */
function headline(delta: ScaleDelta): { tone: string; text: string } {
  const own = delta.job && wouldBreak(delta.job) ? 1 : 0
  const broken = delta.broken + own
  if (delta.job?.refused_then) return { tone: 'bad', text: 'It would be refused and ended' }
  if (broken > 0) return { tone: 'bad', text: `${counted(broken, 'promise')} would break${own && delta.broken === 0 ? ': its own' : ''}` }
  if (delta.job && moveOf(delta.job) === Infinity) return { tone: 'bad', text: 'It would not end' }
  if (delta.job?.promise_then === 'at_risk') return { tone: 'warn', text: 'Its promise would be at risk' }
  return { tone: 'good', text: 'No promise would break' }
}

function Others(props: { delta: ScaleDelta }) {
  const { delta } = props
  const parts = [delta.later && `${counted(delta.later, 'job')} later`, delta.earlier && `${counted(delta.earlier, 'job')} earlier`].filter(Boolean)
  return (
    <>
      {parts.length === 0 ? 'nobody else is moved' : parts.join(', ')}
      {delta.hidden > 0 && <span class="muted small"> ({counted(delta.hidden, 'job')} of other tenants among them)</span>}
      {delta.hurt.length > 0 && (
        <ul class="hurt" aria-label="Jobs that would be hurt">
          {delta.hurt.slice(0, HURT_SHOWN).map((job) => (
            <li key={job.job}><Dot job={job.job} /> <Link to={`/jobs/${job.job}`}>{job.name || `job ${job.job}`}</Link> <Move job={job} /> {wouldBreak(job) && <Badge tone="bad">promise broken</Badge>}</li>
          ))}
          {delta.hurt.length > HURT_SHOWN && <li class="muted">and {delta.hurt.length - HURT_SHOWN} more</li>}
        </ul>
      )}
    </>
  )
}

function DeltaView(props: { asked: Asked<WhatIfReply>; id: string }) {
  const { asked } = props
  const delta = asked.answer && deltaOf(asked.answer, props.id)
  const head = delta && headline(delta)
  const job = delta?.job
  return (
    <div class={`quote ${head ? `is-${head.tone}` : 'muted'}`} role="status" aria-live="polite" aria-busy={asked.isAsking} data-promise={asked.isAsking ? undefined : job?.promise_then || (job && 'none')}>
      {head
        ? <div class="quote-head"><Badge tone={head.tone}>{head.text}</Badge><span>{job?.refused_then}</span>{asked.isAsking && <span class="muted small">playing it on…</span>}</div>
        : asked.isAsking ? 'Playing both futures…' : 'What this would do appears here.'}
      {job && delta && (
        <dl class="facts">
          <dt>Finish</dt><dd>{clockText(ms(job.finish_now))} → {job.finish_then ? clockText(ms(job.finish_then)) : 'never'} · <Move job={job} /></dd>
          {job.promised && <><dt>Promise</dt><dd><PromiseWords job={job} /> <span class="muted small">by <Moment at={job.promised} both /></span></dd></>}
          {job.finish_then && <><dt>Costs from now</dt><dd>{gpuTimeText(job.gpu_hours_now)} → {gpuTimeText(job.gpu_hours_then)} · {hoursChange(job)}</dd></>}
          {job.shares_then.length > 0 && <><dt>Workers then</dt><dd><Sparkline plan={job.shares_then} now={Date.now()} workers={job.shares_then[0].workers} width={160} /></dd></>}
          <dt>Others</dt><dd><Others delta={delta} /></dd>
        </dl>
      )}
    </div>
  )
}

export function ScaleDialog(props: { job: JobStatus; onClose: () => void }) {
  const { job } = props
  const [min, setMin] = useState(String(job.spec.workers?.min || ''))
  const [max, setMax] = useState(String(job.spec.workers?.max || ''))
  const [error, setError] = useState<Error>()
  const [isBusy, setBusy] = useState(false)
  const { limits, problem } = limitsOf(min, max)
  const asked = useLastQuestion<Limits, WhatIfReply>(limits, (workers) => send('POST', '/v1/what-if', { scale: { job: job.id, workers } }))
  const refused = asked.error instanceof ApiError && asked.error.field.startsWith('scale.workers') ? asked.error.message : undefined
  const listed = job.spec.workers?.listed ?? []
  const submit = async (event: Event) => {
    event.preventDefault()
    if (!limits) return
    setBusy(true)
    try {
      const reply = await send<SubmitReply>('POST', `/v1/jobs/${job.id}/scale`, { workers: limits })
      store.take([reply.job])
      props.onClose()
    } catch (failure) { setError(failure as Error) }
    setBusy(false)
  }
  const field = (name: 'min' | 'max', label: string, value: string, set: (value: string) => void) => {
    const wrong = problem?.field === name ? problem.text : name === 'max' ? refused : undefined
    return (
      <Field label={label} hint="empty: no limit" error={wrong}>
        {(id, described) => <input id={id} inputMode="numeric" value={value} aria-describedby={described} aria-invalid={!!wrong} onInput={(event) => set(event.currentTarget.value)} />}
      </Field>
    )
  }
  return (
    <Dialog title={`Scale ${jobName(job)}`} onClose={props.onClose}>
      <form onSubmit={submit} class="stacked">
        <p class="muted">The platform chooses the number of workers from moment to moment; here you say between which.{listed.length > 0 && ` Now it accepts ${listed.join(', ')} only; limits replace that.`}</p>
        <div class="fields">
          {field('min', 'At least', min, setMin)}
          {field('max', 'At most', max, setMax)}
        </div>
        {asked.error && !refused ? <Failure error={asked.error} retry={asked.again} /> : <DeltaView asked={limits ? asked : { isAsking: false }} id={job.id} />}
        {error && <Failure error={error} />}
        <footer class="dialog-foot"><button type="button" onClick={props.onClose}>Close</button><button class="primary" disabled={!limits || isBusy}>Scale</button></footer>
      </form>
    </Dialog>
  )
}
