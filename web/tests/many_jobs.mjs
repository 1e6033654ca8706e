// Measures the dashboard with many jobs in the store: time to the first jobs on the screen, frames
// while all of them are scrolled through, and memory over a live session.
//
// node web/tests/many_jobs.mjs [--jobs 10000] [--seconds 60]     prints one line of JSON; fails if
// something went wrong on a page, or if memory grew with the session
import { grownTooMuch, liveSession } from './session.mjs'
import { openBrowser, openPage, PlatformScene, until } from './scene.mjs'

const option = (name, fallback) => (process.argv.includes(name) ? Number(process.argv[process.argv.indexOf(name) + 1]) : fallback)
const jobs = option('--jobs', 10_000)
const seconds = option('--seconds', 60)
const AT_ONCE = 32

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
  const training = []
  for (let i = 0; i < 6; i++) training.push(await platform.submit({ name: `training-${i}`, steps: 1e6 }))

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

  result.session = await liveSession(page, platform, training, seconds)
  result.faults = faults
} finally {
  await browser.close()
  await platform.stop()
}
console.log(JSON.stringify(result))
const grown = grownTooMuch(result.session)
for (const each of [...result.faults, ...grown]) console.error(`many_jobs: ${each}`)
if (result.faults.length > 0 || grown.length > 0) process.exit(1)
