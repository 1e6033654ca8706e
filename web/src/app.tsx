// The frame around the pages: who is asking, where one can go, whether the line is alive.
import { useEffect, useState } from 'preact/hooks'
import { get, hasToken, setToken, whenUnauthorized, type ApiError } from './api'
import { Empty, Failure, Link, Loading, Logo } from './parts'
import { JobPage } from './pages/job'
import { Jobs } from './pages/jobs'
import { Login } from './pages/login'
import { Nodes } from './pages/nodes'
import { Overview } from './pages/overview'
import { Past } from './pages/past'
import { Plan } from './pages/plan'
import { Policies } from './pages/policies'
import { Tenants } from './pages/tenants'
import { kept } from './kept'
import { useRoute, type Route } from './router'
import { store, useStore } from './store'
import { toggleTheme, useDark } from './theme'
import type { Me } from './types'

const PAGES: [string, string, string][] = [
  ['', 'Overview', 'M3 12l9-8 9 8v8H3z'],
  ['jobs', 'Jobs', 'M4 6h16M4 12h16M4 18h10'],
  ['plan', 'Plan', 'M4 6h8M8 12h10M5 18h7M17 3v18'],
  ['past', 'Time travel', 'M12 8v4l3 2M4 12a8 8 0 1 0 3-6.2M4 4v4h4'],
  ['policies', 'Policies', 'M12 3v18M5 7h14M5 7l-2 7h5zM19 7l-2 7h5z'],
  ['tenants', 'Tenants', 'M9 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM3 20c0-4 3-6 6-6s6 2 6 6M16 6a3 3 0 0 1 0 5M18 14c2 1 3 3 3 6'],
  ['nodes', 'Nodes', 'M4 5h16v6H4zM4 13h16v6H4zM7 8h2M7 16h2'],
]

function Page(props: { route: Route }) {
  const { page, argument } = props.route
  switch (page) {
    case '': return <Overview />
    case 'jobs': return argument ? <JobPage key={argument} id={argument} /> : <Jobs />
    case 'plan': return <Plan />
    case 'past': return <Past />
    case 'policies': return <Policies />
    case 'tenants': return <Tenants />
    case 'nodes': return <Nodes />
    default: return <div class="page"><h1>No such page</h1><div class="card"><Empty title="Nothing is here"><Link to="/">To the overview</Link></Empty></div></div>
  }
}

function Frame(props: { route: Route; onLeave: () => void }) {
  const shared = useStore()
  const dark = useDark()
  useEffect(() => {
    const name = PAGES.find(([page]) => page === props.route.page)?.[1] ?? 'Rubato'
    document.title = props.route.argument ? `Job ${props.route.argument} · Rubato` : `${name} · Rubato`
  }, [props.route.page, props.route.argument])
  return (
    <div class="frame">
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById('main')?.focus() }}>To the content</a>
      <header class="side">
        <Link to="/" class="brand" label="Rubato, overview"><Logo size={26} /><span>Rubato</span></Link>
        <nav aria-label="Pages">
          {PAGES.map(([page, label, path]) => (
            <Link key={page} to={`/${page}`} current={props.route.page === page} class="nav-link">
              <svg width="18" height="18" viewBox="0 0 24 24" aria-hidden="true"><path d={path} /></svg><span>{label}</span>
            </Link>
          ))}
        </nav>
        <div class="side-foot">
          <span class={`line ${shared.isConnected ? 'is-live' : ''}`} role="status"><i aria-hidden="true" />{kept ? 'history' : shared.isConnected ? 'live' : shared.isConnected === undefined ? 'connecting' : 'reconnecting'}</span>
          <span class="muted small who">{shared.me?.user} · {shared.me?.role}{shared.version && ` · ${shared.version.version}`}</span>
          <span class="side-buttons">
            <button class="icon-button" onClick={toggleTheme} aria-label={dark ? 'Use light colours' : 'Use dark colours'}>{dark ? '☀' : '☾'}</button>
            {hasToken() && <button class="quiet" onClick={props.onLeave}>Sign out</button>}
          </span>
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        {shared.isConnected === false && <p class="banner" role="alert">The connection to the platform is lost; what you see may be old. Trying again.</p>}
        {kept && <p class="banner">The history of a platform as of {new Date(Date.now()).toString()}; nothing here changes.</p>}
        <Page route={props.route} />
      </main>
    </div>
  )
}

export function App() {
  const route = useRoute()
  const [me, setMe] = useState<Me>()
  const [needsToken, setNeedsToken] = useState(false)
  const [error, setError] = useState<Error>()
  const begin = (who: Me) => {
    setMe(who)
    setNeedsToken(false)
    setError(undefined)
    void store.start(who)
  }
  const ask = () => {
    setError(undefined)
    get<Me>('/v1/me').then(begin, (failure: ApiError) => { if (failure.status !== 401) setError(failure) })
  }
  useEffect(() => {
    whenUnauthorized(() => { setToken(''); store.end(); setMe(undefined); setNeedsToken(true) })
    ask()
  }, [])
  if (needsToken) return <Login onDone={begin} />
  if (error) return <main class="login"><Failure error={error} retry={ask} /></main>
  if (!me) return <main class="login"><Loading /></main>
  return <Frame route={route} onLeave={() => { setToken(''); store.end(); setMe(undefined); setNeedsToken(true) }} />
}
