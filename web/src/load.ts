// Something asked of the platform: loading, there, or failed; asked again when events say so.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { get } from './api'
import { store } from './store'
import type { EventRecord } from './types'

export interface Loaded<T> { data?: T; error?: Error; isLoading: boolean; reload: () => void; set: (data: T) => void }

export interface LoadOptions {
  every?: number // Milliseconds, while the page is seen.
  on?: (event: EventRecord) => boolean
  pause?: number // Least time between two loads that events ask for.
}

export function useLoad<T>(path: string | undefined, options: LoadOptions = {}): Loaded<T> {
  const [state, setState] = useState<{ data?: T; error?: Error; path?: string }>({})
  const running = useRef<AbortController>()
  const kept = useRef(options)
  kept.current = options

  const reload = useCallback(() => {
    if (!path) return
    running.current?.abort()
    const control = new AbortController()
    running.current = control
    get<T>(path, control.signal).then(
      (data) => { if (!control.signal.aborted) setState({ data, path }) },
      (error) => {
        if (!control.signal.aborted && error.name !== 'AbortError') setState((old) => ({ ...old, error, path }))
      },
    )
  }, [path])

  useEffect(() => {
    reload()
    const { every, pause = 1000 } = kept.current
    const timer = every ? setInterval(() => { if (!document.hidden) reload() }, every) : undefined
    let waiting: ReturnType<typeof setTimeout> | undefined
    const forget = store.onEvents((events) => {
      if (waiting || !kept.current.on || !events.some(kept.current.on)) return
      waiting = setTimeout(() => { waiting = undefined; reload() }, pause)
    })
    return () => {
      clearInterval(timer)
      clearTimeout(waiting)
      forget()
      running.current?.abort()
    }
  }, [reload])

  const isCurrent = state.path === path
  return {
    data: isCurrent ? state.data : undefined,
    error: isCurrent ? state.error : undefined,
    isLoading: !!path && (!isCurrent || (!state.data && !state.error)),
    reload,
    set: (data: T) => setState({ data, path }),
  }
}

/** Draws again every so often: for what counts down. */
export function useTick(milliseconds: number): number {
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    const timer = setInterval(() => { if (!document.hidden) setNow(Date.now()) }, milliseconds)
    return () => clearInterval(timer)
  }, [milliseconds])
  return now
}
