// Pages have addresses; links between them do not load the document again.
import { useEffect, useState } from 'preact/hooks'
import { kept } from './kept'

export interface Route { page: string; argument: string }

export function routeOf(path: string): Route {
  const [page = '', argument = ''] = path.split('/').filter(Boolean).map((part) => {
    try { return decodeURIComponent(part) } catch { return part }
  })
  return { page, argument }
}

const listeners = new Set<() => void>()
// A page from a file has no addresses of its own but behind the hash.
const here = () => (kept ? location.hash.slice(1) || '/' : location.pathname)
export const addressOf = (path: string) => (kept ? `#${path}` : path)

export function go(path: string): void {
  if (path !== here()) history.pushState(null, '', addressOf(path))
  scrollTo(0, 0)
  listeners.forEach((each) => each())
}
if (typeof addEventListener === 'function') addEventListener('popstate', () => listeners.forEach((each) => each()))

export function useRoute(): Route {
  const [route, setRoute] = useState(() => routeOf(here()))
  useEffect(() => {
    const update = () => setRoute(routeOf(here()))
    listeners.add(update)
    return () => { listeners.delete(update) }
  }, [])
  return route
}
