// Reports of a real `rubato sim` in a real browser, opened as files.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after, before } from 'node:test'
import { violations } from './axe.mjs'
import { openBrowser, openPage } from './scene.mjs'

const NASTY = '</script><img src=x onerror="document.title=1">'
const POLICIES = ['elasticflow', 'edf-ac', 'fifo']
const folder = mkdtempSync(join(tmpdir(), 'rubato-report-'))
const rubato = (...words) => execFileSync(process.env.RUBATO_BINARY ?? 'build/rubato', words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
let browser
let results // What the program itself says of the run.

before(async () => {
  const trace = join(folder, 'jobs.jsonl')
  rubato('trace', 'generate', '--jobs', '40', '--seed', '5', '--cluster', '4x8', '--load', '0.8', '-o', trace)
  const lines = readFileSync(trace, 'utf8').split('\n')
  lines[1] = JSON.stringify({ ...JSON.parse(lines[1]), name: NASTY })
  writeFileSync(trace, lines.join('\n'))
  results = JSON.parse(rubato('sim', '--trace', trace, '--cluster', '4x8', '--policy', POLICIES.join(','), '--json', '--html', join(folder, 'run.html'))).results
  rubato('sim', '--trace', trace, '--cluster', '4x8', '--policy', POLICIES.join(','), '--noise', '0,0.2', '--seeds', '3', '--html', join(folder, 'all.html'))
  browser = await openBrowser()
})
after(async () => {
  await browser?.close()
  rmSync(folder, { recursive: true })
})

/** Opens a report, lets the body look, and holds the page to having asked nobody for anything. */
async function visit(name, body, options) {
  const file = `file://${join(folder, name)}`
  const { context, page, faults } = await openPage(browser, file, options)
  try {
    await page.goto(file)
    await body(page, faults)
    assert.deepEqual(faults, [])
  } finally {
    await context.close()
  }
}
const card = (page, title) => page.locator('.card', { has: page.getByRole('heading', { name: title, exact: true }) })
/** How many different colours a picture shows: one that is empty has one. */
const colors = (canvas) => canvas.evaluate((element) => {
  const { data } = element.getContext('2d').getImageData(0, 0, element.width, element.height)
  return new Set(new Uint32Array(data.buffer)).size
})
const rowOf = (page, policy) => page.locator('.comparison tbody tr', { has: page.locator('th', { hasText: new RegExp(`^${policy}$`) }) })
async function cellOf(page, policy, title) {
  const heads = await page.locator('.comparison thead th').allTextContents()
  return rowOf(page, policy).locator('td').nth(heads.findIndex((head) => head.startsWith(title)) - 1).textContent()
}

test('the table says what the program says, and is sorted by any column', () => visit('run.html', async (page) => {
  for (const result of results) {
    const met = parseFloat(await cellOf(page, result.policy, 'deadlinesmet'))
    assert.ok(Math.abs(met - 100 * result.deadline_met_ratio) < 0.0501, `${met} ${result.deadline_met_ratio}`)
    assert.equal(parseInt(await cellOf(page, result.policy, 'jobsfinished'), 10), result.finished)
  }
  const best = results.reduce((a, b) => (b.deadline_met_ratio > a.deadline_met_ratio ? b : a)).policy
  assert.match(await cellOf(page, best, 'deadlinesmet'), /\(best\)/)
  const order = () => page.locator('.comparison tbody th').allTextContents()
  const head = page.getByRole('columnheader', { name: /deadlines *met/ })
  await head.getByRole('button').focus()
  await page.keyboard.press('Enter')
  const byRatio = (sign) => [...results].sort((a, b) => sign * (a.deadline_met_ratio - b.deadline_met_ratio)).map((each) => each.policy)
  await page.locator('th[aria-sort=descending]', { hasText: 'met' }).waitFor()
  assert.deepEqual(await order(), byRatio(-1))
  await page.keyboard.press('Enter')
  await page.locator('th[aria-sort=ascending]').waitFor()
  assert.deepEqual(await order(), byRatio(1))
}))

test('charts show every policy, and the numbers under the pointer', () => visit('run.html', async (page) => {
  for (const title of ['Job completion time', 'Slowdown', 'GPUs in use', 'Deadlines met']) {
    const chart = card(page, title)
    const all = await colors(chart.locator('canvas'))
    assert.ok(all > 20, `${title}: ${all} colours`)
    await chart.locator('.u-over').hover()
    for (const policy of POLICIES) await chart.locator('.tip', { hasText: policy }).waitFor()
    await page.mouse.move(0, 0)
    await chart.getByText('Numbers').click()
    assert.equal(await chart.locator('.numbers tbody tr').count(), POLICIES.length)
  }
  // The share at the end of "Deadlines met" is the ratio of the table.
  const last = await card(page, 'Deadlines met').locator('.numbers tbody tr').first().locator('td').last().textContent()
  assert.equal(Math.round(parseFloat(last)), Math.round(100 * results[0].deadline_met_ratio))
  const before = await colors(card(page, 'Deadlines met').locator('canvas'))
  await page.getByRole('button', { name: 'fifo', exact: true }).click()
  await page.waitForFunction(([n]) => {
    const canvas = [...document.querySelectorAll('.card')].find((each) => each.querySelector('h2').textContent === 'Deadlines met').querySelector('canvas')
    return new Set(new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size !== n
  }, [before])
}))

test('promises are counted as the program counts them', () => visit('run.html', async (page) => {
  const promised = results.find((each) => each.policy === 'elasticflow')
  const words = await page.getByTestId('promises').textContent()
  const [kept, all] = words.match(/\d+/g).map(Number)
  assert.equal(all - kept, promised.promises_broken)
  assert.equal(parseInt(await cellOf(page, 'elasticflow', 'promisesmade'), 10), all)
  for (const canvas of await card(page, 'Promised and actual finish').locator('canvas').all()) assert.ok(await colors(canvas) > 5)
  await card(page, 'Promised and actual finish').getByLabel('Policy').selectOption('fifo')
  await page.getByText('This policy makes no promises.').waitFor()
}))

test('jobs are found on their GPUs; names stay text', () => visit('run.html', async (page) => {
  const gpus = card(page, 'Who held which GPU')
  const canvas = gpus.getByRole('img', { name: /bars on 32 GPUs/ })
  assert.ok(await colors(canvas) > 10)
  assert.equal(await gpus.locator('.gantt-label').count(), 4)
  const whole = await canvas.getAttribute('aria-label')
  await gpus.getByLabel('Find job').fill(NASTY)
  await gpus.getByRole('status').getByText(NASTY).waitFor()
  assert.notEqual(await canvas.getAttribute('aria-label'), whole)
  await gpus.getByRole('button', { name: 'Show all jobs' }).click()
  await canvas.focus()
  await page.keyboard.press('+')
  await page.waitForFunction((old) => document.querySelector('.gantt canvas').getAttribute('aria-label') !== old, whole)
  await page.keyboard.press('0')
  await page.waitForFunction((old) => document.querySelector('.gantt canvas').getAttribute('aria-label') === old, whole)
  const { width, height } = await canvas.boundingBox()
  let tips = []
  for (let part = 0.02; part < 0.9 && tips.length === 0; part += 0.02) {
    await canvas.hover({ position: { x: part * width, y: 0.5 * height } })
    await page.evaluate(() => new Promise(requestAnimationFrame))
    tips = await gpus.locator('.tip').allTextContents()
  }
  assert.match(tips[0], /workers\d+.*held.*finish/)
  await gpus.getByText('The jobs as a table').click()
  await gpus.getByRole('rowheader', { name: NASTY }).waitFor()
  assert.equal(await gpus.locator('.job-table tbody tr').count(), 40)
  assert.equal(await page.locator('img').count(), 0)
  assert.match(await page.title(), /^Rubato: .* on 4x8$/)
}))

test('no script but its own can run in it', () => visit('run.html', async (page, faults) => {
  await page.evaluate(() => {
    window.ran = 0
    const script = document.createElement('script')
    script.textContent = 'window.ran = 1'
    document.body.append(script)
    document.body.insertAdjacentHTML('beforeend', '<a id="bait" onclick="window.ran = 2">bait</a>')
    document.getElementById('bait').click()
  })
  assert.equal(await page.evaluate(() => window.ran), 0)
  // The browser tells of what it did not let run, and of nothing else.
  const told = faults.splice(0)
  assert.equal(told.length, 2)
  for (const fault of told) assert.match(fault, /Content Security Policy/)
}))

test('a tournament shows noisy beside exact speeds, with confidence', () => visit('all.html', async (page) => {
  await page.getByRole('heading', { name: `${POLICIES.length} policies on 1 trace` }).waitFor()
  assert.deepEqual((await page.locator('.band').allTextContents()).map((text) => /exact speeds|speeds off by 20%/.exec(text)?.[0]), ['exact speeds', 'speeds off by 20%'])
  assert.equal(await page.locator('.comparison tbody tr:not(.band)').count(), 2 * POLICIES.length)
  assert.ok(await page.locator('.comparison td.best').count() > 2)
  assert.ok(await page.locator('.comparison small', { hasText: '±' }).count() > 10)
  const spots = card(page, 'Two aims at once').locator('.spot')
  assert.equal(await spots.count(), POLICIES.length)
  assert.ok(await card(page, 'Two aims at once').locator('.spot.front').count() > 0)
  const bars = card(page, 'One aim')
  assert.equal(await bars.locator('rect').count(), 2 * POLICIES.length)
  await bars.getByLabel('Show').selectOption({ label: 'JCT avg' })
  await bars.getByRole('img', { name: /JCT avg of 3 policies/ }).waitFor()
}))

test('reports are free of what axe-core finds, dark and light, narrow and wide', async () => {
  for (const name of ['run.html', 'all.html']) {
    await visit(name, async (page) => {
      await page.locator('.comparison').waitFor()
      for (const [theme, width, height] of [['light', 1440, 900], ['dark', 390, 844]]) {
        await page.setViewportSize({ width, height })
        await page.emulateMedia({ colorScheme: theme })
        await page.waitForFunction((wanted) => document.documentElement.dataset.theme === wanted, theme)
        assert.deepEqual(await violations(page), [], `${name} ${theme}`)
        // What is folded away is looked at in the second pass.
        await page.evaluate(() => document.querySelectorAll('details').forEach((each) => { each.open = true }))
        const beyond = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
        assert.ok(beyond <= 0, `${name}: ${beyond} pixels beyond the edge`)
      }
    }, { reducedMotion: 'reduce' })
  }
})

test('without JavaScript the numbers are there as text', () => visit('run.html', async (page) => {
  const text = await page.locator('noscript pre').textContent()
  for (const policy of POLICIES) assert.ok(text.includes(policy))
}, { javaScriptEnabled: false }))
