// The small pieces that every page is made of.
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { jobHue } from './colors'
import { addressOf, go } from './router'
import { clockText, ms, spanText, utcText } from './time'
import type { JobStatus } from './types'

export function Link(props: { to: string; children: ComponentChildren; class?: string; label?: string; current?: boolean }) {
  const follow = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return
    event.preventDefault()
    go(props.to)
  }
  return (
    <a href={addressOf(props.to)} class={props.class} onClick={follow} aria-label={props.label} aria-current={props.current ? 'page' : undefined}>
      {props.children}
    </a>
  )
}

export function Logo(props: { size: number }) {
  return (
    <svg width={props.size} height={props.size} viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="#3d4fb8" /><path d="M6 21c3.5 0 3.5-9 7-9s3.5 9 7 9 3.5-5 6-5" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round" /><circle cx="26" cy="16" r="2.2" fill="#ffd479" />
    </svg>
  )
}

export function Card(props: { title?: ComponentChildren; children: ComponentChildren; class?: string; actions?: ComponentChildren; note?: ComponentChildren }) {
  return (
    <section class={`card ${props.class ?? ''}`}>
      {(props.title || props.actions) && (
        <header class="card-head">
          <h2>{props.title}</h2>
          {props.note && <span class="muted small">{props.note}</span>}
          {props.actions && <div class="actions">{props.actions}</div>}
        </header>
      )}
      {props.children}
    </section>
  )
}

export function Stat(props: { label: string; value: ComponentChildren; note?: ComponentChildren; tone?: 'good' | 'bad' | 'warn'; children?: ComponentChildren }) {
  return (
    <div class="card stat">
      <div class="stat-label">{props.label}</div>
      <div class={`stat-value ${props.tone ?? ''}`}>{props.value}</div>
      {props.note && <div class="stat-note">{props.note}</div>}
      {props.children}
    </div>
  )
}

const TONES: Record<string, string> = {
  RUNNING: 'go', STARTING: 'go', RESIZING: 'go', PROFILING: 'look', ADMITTED: 'wait', PENDING: 'wait', SUSPENDED: 'wait',
  RECOVERING: 'warn', COMPLETING: 'go', SUCCEEDED: 'good', FAILED: 'bad', REJECTED: 'bad', CANCELLED: 'off',
}
export const stateTone = (state: string) => TONES[state] ?? 'off'
export const stateText = (state: string) => state.charAt(0) + state.slice(1).toLowerCase()

export function StateBadge(props: { state: string }) {
  return <span class={`badge tone-${stateTone(props.state)}`}>{stateText(props.state)}</span>
}
export function Badge(props: { tone: string; children: ComponentChildren }) {
  return <span class={`badge tone-${props.tone}`}>{props.children}</span>
}

export function Dot(props: { job: string }) {
  return <i class="dot" style={{ background: `hsl(${jobHue(props.job)} 50% 55%)` }} aria-hidden="true" />
}

export const jobName = (job: { id: string; name?: string; spec?: { name: string } }) =>
  job.name || job.spec?.name || `job ${job.id}`

export function Meter(props: { value: number; max: number; label: string; tone?: string }) {
  const part = props.max > 0 ? Math.min(1, Math.max(0, props.value / props.max)) : 0
  return (
    <div class={`meter ${props.tone ?? ''}`} role="progressbar" aria-label={props.label} aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(100 * part)}>
      <i style={{ width: `${100 * part}%` }} />
    </div>
  )
}

/** How much time is left between the expected finish and the promise. */
export function slackOf(job: JobStatus): number {
  const due = ms(job.promised ?? job.deadline)
  const finish = ms(job.finished ?? job.eta)
  return due - finish
}
export function Slack(props: { job: JobStatus }) {
  const { job } = props
  if (!job.promised && !job.deadline) return <span class="muted">no deadline</span>
  if (job.state === 'REJECTED') return <span class="muted">not promised</span>
  const slack = slackOf(job)
  if (!Number.isFinite(slack)) return <span class="muted">due {clockText(ms(job.promised ?? job.deadline))}</span>
  const tone = job.missed || slack < 0 ? 'bad' : job.at_risk ? 'warn' : 'good'
  return <span class={`slack ${tone}`}>{slack < 0 ? `${spanText(-slack)} late` : `${spanText(slack)} spare`}</span>
}

export function EtaBand(props: { job: JobStatus }) {
  const { job } = props
  if (job.finished) return <span class="muted">{clockText(ms(job.finished))}</span>
  if (!job.eta) return <span class="muted">–</span>
  const [early, late] = [clockText(ms(job.eta_early)), clockText(ms(job.eta_late))]
  return <span title={`expected ${clockText(ms(job.eta))}`}>{early === late ? early : `${early} – ${late}`}</span>
}

/** In the reader's zone, and in the one the promise was recorded in. */
export function Moment(props: { at?: string; both?: boolean }) {
  if (!props.at) return <>–</>
  const at = ms(props.at)
  return (
    <time dateTime={props.at} title={`${new Date(at).toString()} · ${utcText(at)}`}>
      {clockText(at)}{props.both && <span class="muted small"> · {utcText(at)}</span>}
    </time>
  )
}

export function Empty(props: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <svg width="48" height="32" viewBox="0 0 48 32" aria-hidden="true"><path d="M3 22c6 0 6-14 12-14s6 14 12 14 6-8 12-8" fill="none" stroke="currentColor" stroke-width="2.500" stroke-linecap="round" /></svg>
      <p class="empty-title">{props.title}</p>
      {props.children && <p class="muted">{props.children}</p>}
    </div>
  )
}
export function Loading(props: { lines?: number; label?: string }) {
  return (
    <div class="loading" role="status" aria-label={props.label ?? 'Loading'}>
      {Array.from({ length: props.lines ?? 3 }, (_, i) => <div class="skeleton" key={i} />)}
    </div>
  )
}
export function Failure(props: { error: Error; retry?: () => void }) {
  return (
    <div class="failure" role="alert">
      <strong>That did not work.</strong> {props.error.message}
      {props.retry && <button class="quiet" onClick={props.retry}>Try again</button>}
    </div>
  )
}

/** Loading, failed or there. */
export function Shown<T>(props: { of: { data?: T; error?: Error; isLoading: boolean; reload: () => void }; children: (data: T) => ComponentChildren; lines?: number }) {
  const { of: loaded } = props
  if (loaded.data !== undefined) return <>{props.children(loaded.data)}</>
  if (loaded.error) return <Failure error={loaded.error} retry={loaded.reload} />
  return <Loading lines={props.lines} />
}

export function Field(props: { label: string; hint?: string; error?: string; children: (id: string, described?: string) => JSX.Element }) {
  const id = `f-${props.label.toLowerCase().replace(/[^a-z]+/g, '-')}`
  const note = props.error || props.hint
  return (
    <div class={`field ${props.error ? 'has-error' : ''}`}>
      <label for={id}>{props.label}</label>
      {props.children(id, note ? `${id}-note` : undefined)}
      {note && <span class="field-note" id={`${id}-note`}>{note}</span>}
    </div>
  )
}

/** A modal dialog: the browser keeps the focus inside and closes it with Escape. */
export function Dialog(props: { title: string; onClose: () => void; children: ComponentChildren; class?: string }) {
  const element = useRef<HTMLDialogElement>(null)
  useEffect(() => { if (element.current && !element.current.open) element.current.showModal() }, [])
  return (
    <dialog ref={element} class={props.class} aria-labelledby="dialog-title" onClose={props.onClose} onClick={(event) => { if (event.target === element.current) props.onClose() }}>
      <header class="card-head">
        <h2 id="dialog-title">{props.title}</h2>
        <button class="icon-button" aria-label="Close" onClick={props.onClose}>×</button>
      </header>
      {props.children}
    </dialog>
  )
}

export function Choice<T extends string>(props: { label: string; value: T; options: [T, string][]; onChange: (value: T) => void }) {
  return (
    <div class="choice" role="group" aria-label={props.label}>
      {props.options.map(([value, text]) => (
        <button key={value} type="button" aria-pressed={props.value === value} onClick={() => props.onChange(value)}>{text}</button>
      ))}
    </div>
  )
}
