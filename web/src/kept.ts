// A page without a server: `rubato report --html` puts the answers of the platform into it. It shows
// the moment at which they were given, and nothing can be changed.

function read(): Record<string, unknown> | undefined {
  const text = typeof document === 'undefined' ? undefined : document.getElementById('kept')?.textContent
  return text ? JSON.parse(text) : undefined
}

export const kept = read()

if (kept) {
  const at = Date.parse((kept['/v1/overview'] as { at: string }).at)
  Date.now = () => at
}

/** Of the moments that were kept the last until this one; before the first, the first. */
export function pastAt<T extends { at: string }>(states: T[], at: string | null): T {
  const until = at === null ? Infinity : Date.parse(at)
  return states.filter((each) => Date.parse(each.at) <= until).pop() ?? states[0]
}

/** What was answered to a path; throws if it was not asked. */
export function keptAnswer(path: string): unknown {
  const name = path.split('?')[0]
  if (name === '/v1/me') return { user: 'history', tenant: '', role: 'viewer' }
  if (name === '/v1/past') return pastAt(kept![name] as { at: string }[], new URLSearchParams(path.split('?')[1]).get('at'))
  if (name in kept!) return kept![name]
  const id = /^\/v1\/jobs\/([^/]+)$/.exec(name)?.[1]
  const job = (kept!['/v1/jobs'] as { jobs: { id: string }[] }).jobs.find((each) => each.id === id)
  if (job) return job
  throw new Error('This was not kept.')
}
