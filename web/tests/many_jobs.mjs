// Measures the dashboard with many jobs in the store: time to the first jobs on the screen, frames
// while all of them are scrolled through, and memory over a live session.
//
// node web/tests/many_jobs.mjs [--jobs 10000] [--seconds 60]     prints one line of JSON; fails if
// something went wrong on a page, or if memory grew with the session
import { openBrowser, openPage, PlatformScene, until } from './scene.mjs'

const option = (name, fallback) => (process.argv.includes(name) ? Number(process.argv[process.argv.indexOf(name) + 1]) : fallback)
const jobs = option('--jobs', 10_000)
const seconds = option('--seconds', 60)
const AT_ONCE = 32
const HEAP_GROWTH_MB_MAX = 15

const platform = await new PlatformScene().start({ emulate: '4x8' })
const browser = await openBrowser()
const result = { jobs }
try {
  // Deadlines that cannot be met: the jobs are answered and kept, and hold no slot.
  let next = 0
  const began = Date.now()
  const client = async () => {
    while (next < jobs) await platform.submit({ name: `job-${++next}`, steps: 1e9, deadline: '10s' })
  }
  await Promise.all(Array.from({ length: AT_ONCE }, client))
  result.submissions_per_second = Math.round(jobs / ((Date.now() - began) / 1000))
  for (let i = 0; i < 6; i++) await platform.submit({ name: `training-${i}`, steps: 1e6 })

  const { page, faults } = await openPage(browser, platform.url)
  await page.goto('/jobs')
  await page.locator('.job-row').first().waitFor()
  result.first_rows_ms = Math.round(await page.evaluate(() => new Promise((resolve) => {
    requestAnimationFrame(() => resolve(performance.now()))
  })))
  result.first_contentful_paint_ms = Math.round(await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime))
  // Again with everything warm, timed by the page itself.
  const times = []
  for (let i = 0; i < 5; i++) {
    await page.goto('/jobs', { waitUntil: 'commit' })
    await page.locator('.job-row').first().waitFor()
    times.push(await page.evaluate(() => performance.now()))
  }
  result.first_rows_again_ms = Math.round(times.sort((a, b) => a - b)[2])
  await until('all jobs are loaded', async () => (await page.locator('.count').textContent()).startsWith(`${(jobs + 6).toLocaleString('en').replace(/,/g, '\u202f')} jobs`) && !(await page.locator('.count').textContent()).includes('loading'), 120)
  result.all_loaded_ms = Math.round(await page.evaluate(() => performance.now()))
  const frames = await page.evaluate(() => new Promise((resolve) => {
    const box = document.querySelector('.table-box')
    const gaps = []
    let last = performance.now()
    const step = (now) => {
      gaps.push(now - last)
      last = now
      box.scrollTop += 700
      if (box.scrollTop + box.clientHeight >= box.scrollHeight - 1) resolve(gaps.slice(1).sort((a, b) => a - b))
      else requestAnimationFrame(step)
    }
    requestAnimationFrame(step)
  }))
  result.scroll_frames = frames.length
  result.frame_p50_ms = Number(frames[Math.floor(frames.length * 0.5)].toFixed(1))
  result.frame_p99_ms = Number(frames[Math.floor(frames.length * 0.99)].toFixed(1))

  const session = await page.context().newCDPSession(page)
  const heap = async () => {
    await session.send('HeapProfiler.collectGarbage')
    return Number(((await session.send('Runtime.getHeapUsage')).usedSize / 1e6).toFixed(1))
  }
  result.heap_mb = [await heap()]
  const pages = ['/', '/plan', '/jobs', '/past', '/nodes']
  for (let i = 0; i < 6; i++) {
    await page.evaluate((path) => document.querySelector(`nav a[href="${path}"]`).click(), pages[i % pages.length])
    const end = Date.now() + (seconds * 1000) / 6
    while (Date.now() < end) {
      await platform.submit({ name: 'passing', steps: 1e9, deadline: '10s' })
      await new Promise((resolve) => setTimeout(resolve, 250))
    }
    result.heap_mb.push(await heap())
  }
  result.faults = faults
} finally {
  await browser.close()
  await platform.stop()
}
console.log(JSON.stringify(result))
// Past the first look at each page, which loads what that page alone needs.
const grown = result.heap_mb[result.heap_mb.length - 1] - Math.max(...result.heap_mb.slice(0, 3))
if (result.faults.length > 0 || grown > HEAP_GROWTH_MB_MAX) {
  console.error(`many_jobs: ${result.faults.length} faults, ${grown.toFixed(1)} MB more at the end`)
  process.exit(1)
}
