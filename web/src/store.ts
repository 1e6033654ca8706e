// What all pages share: who we are, every job, and the newest events. Jobs are loaded once, page by
// page; from then on events say which of them to ask for again, at most once a second, and those
// that are not over are asked for every few seconds while somebody looks (refresh.ts).
import { useEffect, useState } from 'preact/hooks'
import { get } from './api'
import { kept } from './kept'
import { FIRST_PAGE, nextPage, toAskFor } from './refresh'
import { follow } from './stream'
import { OVER, type EventRecord, type JobList, type JobStatus, type Me, type Version } from './types'

const FEW = 200 // Of the first answer, which has to be there at once.
const PAGE = 1000
const IDS_MAX = 500 // In one address.
const FLUSH_MS = 1000
const ACTIVE_MS = 3000
const RETRY_MS = 1500
const EVENTS_KEPT = 400

class Store {
  me?: Me
  version?: Version
  jobs = new Map<string, JobStatus>()
  isComplete = false
  isConnected?: boolean // Nothing while the first answer is awaited.
  events: EventRecord[] = [] // The newest first.
  revision = 0

  private listeners = new Set<() => void>()
  private eventListeners = new Set<(events: EventRecord[]) => void>()
  private dirty = new Set<string>()
  private timers: ReturnType<typeof setInterval>[] = []
  private stop?: AbortController
  private isFlushing = false
  private activeAt = 0
  private cursor = FIRST_PAGE
  private scheduled = false

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener)
    return () => { this.listeners.delete(listener) }
  }
  onEvents(listener: (events: EventRecord[]) => void): () => void {
    this.eventListeners.add(listener)
    return () => { this.eventListeners.delete(listener) }
  }

  /** Readers are told once per frame, however much changed. */
  changed(): void {
    this.revision++
    if (this.scheduled) return
    this.scheduled = true
    setTimeout(() => {
      this.scheduled = false
      this.listeners.forEach((each) => each())
    }, 30)
  }

  async start(me: Me): Promise<void> {
    this.end()
    this.me = me
    this.stop = new AbortController()
    const signal = this.stop.signal
    for (;;) {
      try {
        await this.load(signal)
        return
      } catch {
        if (signal.aborted) return
        this.isConnected = false
        this.changed()
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
      }
    }
  }

  private async load(signal: AbortSignal): Promise<void> {
    const first = await get<JobList>(`/v1/jobs?page_size=${FEW}`, signal)
    this.take(first.jobs)
    this.version = await get<Version>('/v1/version', signal)
    const since = await this.readEvents(signal)
    await this.loadRest(first.next_page_token, signal)
    this.isComplete = true
    this.changed()
    if (kept) return
    this.timers.push(setInterval(() => void this.flush(), FLUSH_MS))
    void follow(since, (events) => this.hear(events), (state) => {
      if (state.connected && this.isConnected === false) this.activeAt = 0
      this.isConnected = state.connected
      this.changed()
    }, signal)
    this.changed()
  }

  end(): void {
    this.stop?.abort()
    this.timers.forEach((each) => clearInterval(each))
    this.timers = []
    this.jobs.clear()
    this.events = []
    this.isComplete = false
    this.isConnected = undefined
    this.dirty.clear()
    this.cursor = FIRST_PAGE
  }

  private async loadRest(token: string, signal: AbortSignal): Promise<void> {
    while (token && !signal.aborted) {
      const page = await get<JobList>(`/v1/jobs?page_size=${PAGE}&page_token=${token}`, signal)
      this.take(page.jobs)
      token = page.next_page_token
    }
  }

  // All so far, to know the newest and where the stream begins.
  private async readEvents(signal: AbortSignal): Promise<string> {
    let since = '0'
    for (;;) {
      const list = await get<{ events: EventRecord[]; next_sequence: string }>(`/v1/events?since=${since}&limit=10000`, signal)
      this.keep(list.events)
      if (kept || list.next_sequence === since) return since
      since = list.next_sequence
      if (list.events.length < 10_000) return since
    }
  }

  private keep(events: EventRecord[]): void {
    this.events = [...events].reverse().concat(this.events).slice(0, EVENTS_KEPT)
  }

  private hear(events: EventRecord[]): void {
    this.keep(events)
    for (const event of events) if (event.job) this.dirty.add(event.job)
    this.eventListeners.forEach((each) => each(events))
    this.changed()
  }

  take(jobs: JobStatus[]): void {
    for (const job of jobs) this.jobs.set(job.id, job)
    this.changed()
  }

  private async flush(): Promise<void> {
    const isDue = Date.now() - this.activeAt > ACTIVE_MS && !document.hidden && this.active().length > 0
    if (this.isFlushing || (this.dirty.size === 0 && !isDue)) return
    this.isFlushing = true
    const signal = this.stop?.signal
    const changed = new Set(this.dirty)
    this.dirty.clear()
    try {
      const page = await get<JobList>(`/v1/jobs?state=ACTIVE&page_size=${PAGE}&page_token=${this.cursor.token}`, signal)
      this.activeAt = Date.now()
      const ids = toAskFor(changed, this.jobs.values(), this.cursor, page)
      this.cursor = nextPage(page)
      this.take(page.jobs)
      for (let i = 0; i < ids.length; i += IDS_MAX) {
        this.take((await get<JobList>(`/v1/jobs?ids=${ids.slice(i, i + IDS_MAX)}&page_size=${IDS_MAX}`, signal)).jobs)
      }
    } catch {
      if (!signal?.aborted) changed.forEach((id) => this.dirty.add(id))
    }
    this.isFlushing = false
  }

  active(): JobStatus[] {
    const all = []
    for (const job of this.jobs.values()) if (!OVER.has(job.state)) all.push(job)
    return all
  }
  sorted(): JobStatus[] {
    return [...this.jobs.values()].sort((a, b) => Number(b.id) - Number(a.id))
  }
}

export const store = new Store()

/** Draws again when anything in the store changed. */
export function useStore(): Store {
  const [, set] = useState(0)
  useEffect(() => store.subscribe(() => set((n) => n + 1)), [])
  return store
}

export const may = (role: 'user' | 'admin') =>
  store.me?.role === 'admin' || (role === 'user' && store.me?.role === 'user')
