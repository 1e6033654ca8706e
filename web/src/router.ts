// Pages have addresses; links between them do not load the document again.
import { useEffect, useState } from 'preact/hooks'

export interface Route { page: string; argument: string }

export function routeOf(path: string): Route {
  const [page = '', argument = ''] = path.split('/').filter(Boolean).map((part) => {
    try { return decodeURIComponent(part) } catch { return part }
  })
  return { page, argument }
}

const listeners = new Set<() => void>()
export function go(path: string): void {
  if (path !== location.pathname) history.pushState(null, '', path)
  scrollTo(0, 0)
  listeners.forEach((each) => each())
}
if (typeof addEventListener === 'function') addEventListener('popstate', () => listeners.forEach((each) => each()))

export function useRoute(): Route {
  const [route, setRoute] = useState(() => routeOf(location.pathname))
  useEffect(() => {
    const update = () => setRoute(routeOf(location.pathname))
    listeners.add(update)
    return () => { listeners.delete(update) }
  }, [])
  return route
}
