// A live session of a reader: page after page, round after round, while jobs are resized and come and
// go. What the browser holds must not grow with it.

const PAGES = ['/', '/plan', '/past', '/nodes', '/policies', '/jobs']
const ROUND_SECONDS_MIN = 10
const ROUNDS_MIN = 6
const HEAP_GROWTH_MB_MAX = 1
const NODES_GROWTH_MAX = 400
const PAUSE_MS = 60

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]

/** From the first third of the rounds to the last; the very first round loads what pages need once. */
export function growthOf(samples) {
  const settled = samples.slice(1)
  const third = Math.max(1, Math.floor(settled.length / 3))
  return median(settled.slice(-third)) - median(settled.slice(0, third))
}

/** What grew beyond its limit, in words. */
export function grownTooMuch({ heap_mb: heap, nodes }) {
  const found = []
  if (growthOf(heap) > HEAP_GROWTH_MB_MAX) found.push(`the heap grew by ${growthOf(heap).toFixed(1)} MB, at most ${HEAP_GROWTH_MB_MAX}`)
  if (growthOf(nodes) > NODES_GROWTH_MAX) found.push(`there are ${growthOf(nodes)} more nodes, at most ${NODES_GROWTH_MAX}`)
  return found
}

/** Resizes the jobs of `training` in turn, and now and then a job comes and is refused. */
function disturb(platform, training) {
  let isOver = false
  let turns = 0
  const work = (async () => {
    while (!isOver) {
      const id = training[turns % training.length]
      await platform.call('POST', `/v1/jobs/${id}/scale`, { workers: { max: Math.floor(turns / training.length) % 2 ? 8 : 1 } })
      if (turns % 100 === 0) await platform.submit({ name: 'passing', steps: 1e9, deadline: '10s' })
      turns++
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
    return turns
  })()
  return { stop: () => { isOver = true; return work } }
}

async function countEvents(platform) {
  let count = 0
  for (let since = 0; ;) {
    const { events, next_sequence: next } = await platform.call('GET', `/v1/events?since=${since}&limit=10000`)
    if (events.length === 0) return count
    count += events.length
    since = next
  }
}

/** `{rounds, resizes_asked, events, heap_mb, nodes}`: what was held at the end of each round, on the same page. */
export async function liveSession(page, platform, training, seconds) {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable')
  const measure = async () => {
    await session.send('HeapProfiler.collectGarbage')
    const { metrics } = await session.send('Performance.getMetrics')
    const of = (name) => metrics.find((each) => each.name === name).value
    return { heap: Number((of('JSHeapUsedSize') / 1e6).toFixed(1)), nodes: of('Nodes') }
  }
  const rounds = Math.max(ROUNDS_MIN, Math.min(20, Math.floor(seconds / ROUND_SECONDS_MIN)))
  const result = { rounds, heap_mb: [], nodes: [] }
  const disturbance = disturb(platform, training)
  for (let round = 0; round < rounds; round++) {
    for (const path of PAGES) {
      await page.evaluate((to) => document.querySelector(`nav a[href="${to}"]`).click(), path)
      await new Promise((resolve) => setTimeout(resolve, (seconds * 1000) / rounds / PAGES.length))
    }
    const { heap, nodes } = await measure()
    result.heap_mb.push(heap)
    result.nodes.push(nodes)
  }
  result.resizes_asked = await disturbance.stop()
  result.events = await countEvents(platform)
  return result
}
