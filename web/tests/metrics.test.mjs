// Metrics on the page of a job, in a real browser: jobs of a real platform whose programs print them.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test, { after, before } from 'node:test'
import { violations } from './axe.mjs'
import { openBrowser, openPage, PlatformScene, until } from './scene.mjs'

let platform
let browser
let stop // The programs end when it exists.

// Prints a line for each of its steps, then waits.
const program = (lines) => ['sh', '-c', `i=0; while [ $i -lt ${lines} ]; do i=$((i + 1)); echo "$i 0.5" > "$RUBATO_PROGRESS_FILE"; sleep 0.03
  echo "step $i: train loss $((100 - i)).5, lr=0.$i"; done; while [ ! -e "${stop}" ]; do sleep 0.1; done`]
const submit = async (more) => (await platform.call('POST', '/v1/jobs', {
  kind: 'restart', steps: 50, workers: { min: 1, max: 1 }, speeds: [{ workers: 1, steps_per_second: 10 }], ...more,
})).job.id
const lineOf = async (id, name) => (await platform.call('GET', `/v1/jobs/${id}/metrics?names=${name}`)).lines[0]

before(async () => {
  [platform, browser] = await Promise.all([new PlatformScene().start({ emulate: '' }), openBrowser()])
  stop = join(platform.folder, 'stop')
})
after(async () => {
  if (platform) writeFileSync(stop, '')
  await browser?.close()
  await platform?.stop()
})

async function visit(path, body, options) {
  const { context, page, faults } = await openPage(browser, platform.url, options)
  try {
    await page.goto(path)
    await body(page)
    assert.deepEqual(faults, [])
  } finally {
    await context.close()
  }
}

test('a chart for each metric appears while the job trains', async () => {
  const id = await submit({ name: 'printing', command: program(40) })
  await visit(`/jobs/${id}`, async (page) => {
    await page.locator('.metric[data-metric=train_loss] canvas').waitFor()
    await page.locator('.metric[data-metric=lr]').waitFor()
    await until('all lines are told', async () => (await lineOf(id, 'train_loss'))?.values.at(-1) === 60.5)
    await page.locator('.metric[data-metric=train_loss] figcaption', { hasText: '60.5' }).waitFor()

    await page.getByText('The same as a table').click()
    const row = page.getByRole('region', { name: 'Metrics as a table' }).getByRole('row').filter({ hasText: 'train_loss' })
    // Of lines that are read at once, and so at the same step, the last one counts.
    assert.match(await row.textContent(), /train_loss60\.5\d+60\.59\d\.5/)
  })
})

test('other jobs can be laid over by step', async () => {
  const id = await submit({ name: 'printing', command: program(20) })
  await until('its lines are told', async () => (await lineOf(id, 'train_loss'))?.values.at(-1) === 80.5)
  await visit(`/jobs/${id}`, async (page) => {
    await page.getByRole('img', { name: 'train_loss by step' }).waitFor()
    await page.getByLabel('Compare with').selectOption({ label: 'printing #1' })

    await page.getByRole('img', { name: 'train_loss by step, of 2 jobs' }).waitFor()
    await page.locator('.metric[data-metric=train_loss] .u-legend', { hasText: 'printing #1' }).waitFor()
    await page.getByRole('button', { name: 'Do not compare with printing #1' }).click()
    await page.getByRole('img', { name: 'train_loss by step', exact: true }).waitFor()
  })
})

test('names are shown as text, and a job without metrics says how to have some', async () => {
  const nasty = await submit({ name: 'nasty', command: ['sh', '-c', `echo '{"<img src=x>": 0.5}'; while [ ! -e "${stop}" ]; do sleep 0.1; done`] })
  await visit(`/jobs/${nasty}`, async (page) => {
    await page.locator('.metric-name', { hasText: '<img_src=x>' }).waitFor()
    assert.equal(await page.locator('main img').count(), 0)
  })
  const silent = await submit({ name: 'silent', command: ['sh', '-c', `while [ ! -e "${stop}" ]; do sleep 0.1; done`] })
  await visit(`/jobs/${silent}`, (page) => page.getByText('rubato.log(loss=0.3)').waitFor())
})

test('a job that its rule ended says so', async () => {
  const id = await submit({ name: 'early', until: 'train loss < 95', command: program(1000), steps: 1000 })
  await visit(`/jobs/${id}`, async (page) => {
    // Said in the page, and as an event if it happened while somebody looked.
    await page.getByText('ended by --until train_loss < 95').first().waitFor()
    await page.getByText('ends early when train loss < 95').waitFor()
    await page.locator('h1 .badge', { hasText: 'Succeeded' }).waitFor()
  })
})

for (const [name, options] of [['light and wide', {}], ['dark on a phone', { colorScheme: 'dark', viewport: { width: 390, height: 800 } }]]) {
  test(`axe finds nothing, ${name}`, () => visit('/jobs/1', async (page) => {
    await page.locator('.metric canvas').first().waitFor()
    await page.getByLabel('Compare with').selectOption({ index: 1 })
    await page.locator('.chip').waitFor()
    assert.deepEqual(await violations(page), [])
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth), 'wider than the screen')
  }, options))
}
