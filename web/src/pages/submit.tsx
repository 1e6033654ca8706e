// Submits a job: the quote comes while one types, a refusal comes with offers one can take.
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, send } from '../api'
import { countText, ratioText, shellWords, speedPoints } from '../numbers'
import { Badge, Choice, Dialog, Failure, Field, Moment } from '../parts'
import { go } from '../router'
import { Sparkline } from '../sparkline'
import { store } from '../store'
import { clockText, deadlineText, ms, relativeText, utcText, zoneName } from '../time'
import type { CounterOffer, Quote, SubmitReply } from '../types'

export interface Draft {
  name: string; kind: string; command: string; directory: string; steps: string; deadline: string; class: string
  model: string; min: string; max: string; speeds: string; tenant: string
}
const EMPTY: Draft = { name: '', kind: 'elastic', command: '', directory: '', steps: '', deadline: '', class: '', model: '', min: '', max: '', speeds: '', tenant: '' }

/** The draft as the interface wants it, or what is wrong with it. */
export function specOf(draft: Draft, now = new Date()): { spec?: Record<string, unknown>; problem?: { field: string; text: string } } {
  const steps = Number(draft.steps)
  if (!draft.steps || !(steps > 0)) return { problem: { field: 'steps', text: 'How many steps to train?' } }
  const command = shellWords(draft.command)
  if (draft.kind !== 'emulated' && command.length === 0) return { problem: { field: 'command', text: 'Which program to run?' } }
  const speeds = speedPoints(draft.speeds)
  if (!speeds) return { problem: { field: 'speeds', text: 'Write it as 1:10, 2:19, 4:35' } }
  if (draft.kind === 'emulated' && speeds.length === 0) return { problem: { field: 'speeds', text: 'An emulated job needs its speeds, such as 1:10, 2:19' } }
  const spec: Record<string, unknown> = { name: draft.name, kind: draft.kind, steps }
  if (draft.kind !== 'emulated') spec.command = command
  if (draft.directory) spec.working_directory = draft.directory
  if (draft.deadline.trim()) spec.deadline = deadlineText(draft.deadline, now)
  if (draft.class) spec.class = draft.class
  if (draft.model) spec.model = draft.model
  if (draft.tenant) spec.tenant = draft.tenant
  if (speeds.length) spec.speeds = speeds
  if (draft.min || draft.max) spec.workers = { min: Number(draft.min) || 0, max: Number(draft.max) || 0 }
  return { spec }
}

export function offerText(offer: CounterOffer): string {
  if (offer.kind === 'later_deadline') return `Promise it by ${clockText(ms(offer.deadline))}`
  if (offer.kind === 'more_gpus') return `Possible with ${offer.gpus} GPUs`
  if (offer.kind === 'best_effort') return 'Run it as best effort'
  return offer.kind.replace(/_/g, ' ')
}

export function QuoteView(props: { quote: Quote; onTake?: (offer: CounterOffer) => void }) {
  const { quote } = props
  const now = Date.now()
  return (
    <div class={`quote ${quote.admitted ? 'is-good' : 'is-bad'}`} role="status" data-admitted={quote.admitted}>
      <div class="quote-head">
        <Badge tone={quote.admitted ? 'good' : 'bad'}>{quote.admitted ? 'Would be admitted' : 'Would be refused'}</Badge>
        <span>{quote.message}</span>
      </div>
      <dl class="facts">
        {quote.promised && <><dt>Promised by</dt><dd><Moment at={quote.promised} both /></dd></>}
        {quote.finish && <><dt>Expected</dt><dd>{clockText(ms(quote.finish_early))} – {clockText(ms(quote.finish_late))} <span class="muted small">({relativeText(ms(quote.finish), now)})</span></dd></>}
        {quote.earliest && <><dt>Earliest deadline we could promise</dt><dd><Moment at={quote.earliest} both /></dd></>}
        {quote.gpu_hours > 0 && <><dt>Costs</dt><dd>{quote.gpu_hours < 1 ? `${(quote.gpu_hours * 60).toFixed(1)} GPU-minutes` : `${quote.gpu_hours.toFixed(1)} GPU-hours`} <span class="muted small">speeds {quote.provenance}</span></dd></>}
        {quote.plan.length > 0 && <><dt>Plan</dt><dd><Sparkline plan={quote.plan} now={now} workers={quote.plan[0].workers} width={160} /></dd></>}
        {quote.promises_made > 0 && <><dt>Our record</dt><dd>{ratioText(quote.promises_kept_ratio)} of {countText(quote.promises_made)} promises kept</dd></>}
      </dl>
      {!quote.admitted && quote.offers.length > 0 && (
        <div class="offers">
          <p class="small muted">Instead:</p>
          {quote.offers.map((offer) => (
            offer.kind === 'more_gpus' || !props.onTake
              ? <span key={offer.kind} class="offer-note">{offerText(offer)}</span>
              : <button key={offer.kind} type="button" class="offer" title={offer.deadline ? utcText(ms(offer.deadline)) : undefined} onClick={() => props.onTake!(offer)}>{offerText(offer)}</button>
          ))}
        </div>
      )}
    </div>
  )
}

export function SubmitDialog(props: { onClose: () => void }) {
  const [draft, setDraft] = useState<Draft>(EMPTY)
  const [quote, setQuote] = useState<Quote>()
  const [problem, setProblem] = useState<{ field: string; text: string }>()
  const [error, setError] = useState<Error>()
  const [refused, setRefused] = useState('')
  const [isBusy, setBusy] = useState(false)
  const asked = useRef(0)
  const key = useRef(crypto.getRandomValues(new Uint32Array(4)).join('-'))
  const set = (name: keyof Draft) => (value: string) => {
    setDraft((old) => ({ ...old, [name]: value }))
    setProblem(undefined)
  }

  // A quote for what is written so far, when the writer pauses.
  useEffect(() => {
    const { spec } = specOf(draft)
    setQuote(undefined)
    if (!spec) return
    const mine = ++asked.current
    const timer = setTimeout(() => {
      send<Quote>('POST', '/v1/quotes', spec).then(
        (reply) => { if (mine === asked.current) { setQuote(reply); setError(undefined) } },
        (failure: ApiError) => { if (mine === asked.current && failure.field) setProblem({ field: failure.field, text: failure.message }) },
      )
    }, 450)
    return () => clearTimeout(timer)
  }, [draft])

  const submit = async (changed: Draft = draft) => {
    const { spec, problem: found } = specOf(changed)
    if (!spec) { setProblem(found); return }
    setBusy(true)
    setError(undefined)
    setRefused('')
    try {
      const reply = await send<SubmitReply>('POST', '/v1/jobs', spec, { 'Idempotency-Key': key.current })
      store.take([reply.job])
      if (reply.job.state === 'REJECTED') {
        setRefused(reply.job.id)
        setQuote(reply.quote)
        key.current = crypto.getRandomValues(new Uint32Array(4)).join('-')
      } else {
        props.onClose()
        go(`/jobs/${reply.job.id}`)
      }
    } catch (failure) {
      const known = failure as ApiError
      if (known.field) setProblem({ field: known.field, text: known.message })
      else setError(known)
    }
    setBusy(false)
  }
  const take = (offer: CounterOffer) => {
    const changed = offer.kind === 'best_effort' ? { ...draft, deadline: '', class: 'best_effort' } : { ...draft, deadline: offer.deadline ?? draft.deadline }
    setDraft(changed)
    void submit(changed)
  }
  const text = (name: keyof Draft, label: string, more: { hint?: string; placeholder?: string; mode?: 'numeric' | 'text' } = {}) => (
    <Field label={label} hint={more.hint} error={problem?.field.startsWith(name) ? problem.text : undefined}>
      {(id, described) => (
        <input id={id} value={draft[name]} placeholder={more.placeholder} inputMode={more.mode} aria-describedby={described} aria-invalid={!!problem?.field.startsWith(name)} onInput={(event) => set(name)(event.currentTarget.value)} />
      )}
    </Field>
  )
  return (
    <Dialog title="Submit a job" onClose={props.onClose} class="wide-dialog">
      <form class="submit" onSubmit={(event) => { event.preventDefault(); void submit() }}>
        <div class="fields">
          {text('name', 'Name', { placeholder: 'resnet-nightly' })}
          <div class="field">
            <span class="label">Kind</span>
            <Choice label="Kind" value={draft.kind} options={[['elastic', 'Elastic'], ['restart', 'Restart'], ['emulated', 'Emulated']]} onChange={set('kind')} />
          </div>
          {draft.kind !== 'emulated' && text('command', 'Command', { placeholder: 'python train.py' })}
          {draft.kind !== 'emulated' && text('directory', 'Directory', { placeholder: 'of the program' })}
          {text('steps', 'Steps', { mode: 'numeric', placeholder: '12000' })}
          {text('deadline', 'Deadline', { placeholder: '6h', hint: `6h, 45m or 18:00 (${zoneName()}); empty: none` })}
          <Field label="Class">
            {(id) => (
              <select id={id} value={draft.class} onChange={(event) => set('class')(event.currentTarget.value)}>
                <option value="">by its deadline</option><option value="slo">slo: a promise</option><option value="soft">soft: worth less when late</option><option value="best_effort">best effort</option>
              </select>
            )}
          </Field>
          {text('model', 'Model', { hint: 'Jobs of one model share what is known about speed' })}
          {text('min', 'Workers, at least', { mode: 'numeric' })}
          {text('max', 'Workers, at most', { mode: 'numeric' })}
          {text('speeds', 'Speeds', { placeholder: '1:10, 2:19, 4:35', hint: 'Workers and steps per second, if known; measured otherwise' })}
          {text('tenant', 'Tenant')}
        </div>
        {refused && <p class="refused" role="alert"><strong>Job {refused} was refused.</strong> Take one of the offers, or change the deadline.</p>}
        {quote ? <QuoteView quote={quote} onTake={take} /> : <div class="quote muted">The quote appears here as soon as there is enough to go by.</div>}
        {error && <Failure error={error} />}
        <footer class="dialog-foot">
          <button type="button" onClick={props.onClose}>Close</button>
          <button class="primary" disabled={isBusy}>Submit</button>
        </footer>
      </form>
    </Dialog>
  )
}
