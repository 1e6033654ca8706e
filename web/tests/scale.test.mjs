// What a scale would do, seen before it is done: a real browser at a real `rubato up`.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import test, { after, before } from 'node:test'
import { violations } from './axe.mjs'
import { openBrowser, openPage, PlatformScene, until } from './scene.mjs'

const BINARY = process.env.RUBATO_BINARY ?? 'build/rubato'
const TOLERANCE_SECONDS = 30 // Between two plays the job trains on, and its report comes every few seconds.
let platform
let browser

before(async () => {
  [platform, browser] = await Promise.all([new PlatformScene().start({ emulate: '1x8' }), openBrowser()])
})
after(async () => {
  await browser?.close()
  await platform?.stop()
})

/** Opens the dialog of a job, and holds the page to having done nothing it should not. */
async function scaling(scene, id, body, { token } = {}) {
  const { context, page, faults } = await openPage(browser, scene.url)
  const asked = []
  page.on('request', (request) => { if (request.url().endsWith('/v1/what-if')) asked.push(request.postDataJSON().scale.workers) })
  try {
    await page.goto(`/jobs/${id}`)
    if (token) {
      await page.getByLabel('Token').fill(token)
      await page.getByRole('button', { name: 'Sign in' }).click()
    }
    await page.getByRole('button', { name: 'Scale', exact: true }).click()
    await body(page, asked)
    assert.deepEqual(faults, [])
  } finally {
    await context.close()
  }
}
const delta = (page, promise) => page.locator(`dialog .quote[data-promise=${promise}]`)
const statusOf = (id) => platform.call('GET', `/v1/jobs/${id}`)
const cancel = (id) => platform.call('POST', `/v1/jobs/${id}/cancel`)

test('limits are played before they are set: finish, promise, costs; then they are set', async () => {
  const id = await platform.submit({ name: 'promised', steps: 30_000, deadline: '20m' })
  await until('it trains', async () => (await statusOf(id)).workers === 8)
  await scaling(platform, id, async (page, asked) => {
    await delta(page, 'kept').getByText('No promise would break').waitFor()

    await page.getByLabel('At most').fill('1')
    const broken = delta(page, 'broken')
    await broken.getByText('1 promise would break: its own').waitFor()
    await broken.getByText(/→ .*\d (min|s|h).* later/).first().waitFor()
    await broken.getByText('kept → broken').waitFor()
    await broken.getByText(/GPU-(minutes|hours) less/).waitFor()
    assert.equal(await broken.getAttribute('aria-live'), 'polite')
    assert.equal((await statusOf(id)).spec.workers?.max ?? 0, 0, 'asking changed nothing')

    const before = asked.length
    await page.getByLabel('At most').pressSequentially('234', { delay: 20 })
    await page.getByLabel('At most').fill('4')
    const reply = await page.waitForResponse((each) => each.url().endsWith('/v1/what-if') && each.request().postDataJSON().scale.workers.max === 4)
    const told = (await reply.json()).jobs.find((job) => job.job === id)
    await delta(page, 'kept').waitFor()
    assert.ok(asked.length - before <= 2, `asked ${asked.length - before} times while it was typed`)

    await page.locator('dialog').getByRole('button', { name: 'Scale', exact: true }).click()
    await page.locator('dialog').waitFor({ state: 'detached' })
    await until('it has 4 workers', async () => (await statusOf(id)).workers === 4)
    const future = await platform.call('GET', '/v1/future')
    const finish = Date.parse(future.jobs.find((job) => job.job === id).finish)
    const off = Math.abs(finish - Date.parse(told.finish_then)) / 1000
    assert.ok(off < TOLERANCE_SECONDS, `the finish was told ${off} s off`)
  })
  await cancel(id)
})

test('others that would be hurt are named, and the command line says the same', async () => {
  const steady = await platform.submit({ name: '<b>steady</b>', steps: 20_000 })
  const slow = await platform.submit({ name: 'slow', steps: 10_000, deadline: '40m', workers: { max: 4 } })
  await scaling(platform, slow, async (page) => {
    await delta(page, 'kept').waitFor()
    await page.getByLabel('At most').fill('1') // The slots that it gives up are too few for the other.
    await delta(page, 'kept').getByText('1 job later').waitFor()
    await page.getByRole('list', { name: 'Jobs that would be hurt' }).getByText('<b>steady</b>').waitFor()
    for (const [theme, width] of [['light', 1440], ['dark', 390]]) {
      await page.setViewportSize({ width, height: 844 })
      await page.emulateMedia({ colorScheme: theme })
      await page.waitForFunction((name) => document.documentElement.dataset.theme === name, theme)
      assert.deepEqual(await violations(page), [], theme)
    }
  })
  const text = execFileSync(BINARY, ['scale', slow, '--workers', '1', '--dry-run', '--server', platform.url], { encoding: 'utf8' })
  assert.match(text, new RegExp(`^job ${slow} with workers 1\n finish .* -> `))
  assert.match(text, / others +1 later, 0 earlier, 0 promises broken\n/)
  assert.ok(text.includes(`${steady}  <b>steady</b>`), text)
  await Promise.all([cancel(steady), cancel(slow)])
})

test('what cannot be is said at the field, and what goes wrong can be tried again', async () => {
  const id = await platform.submit({ name: 'plain', steps: 50_000 })
  await scaling(platform, id, async (page, asked) => {
    await delta(page, 'none').waitFor()
    const before = asked.length
    for (const wrong of ['two', '0', '99999999']) {
      await page.getByLabel('At least').fill(wrong)
      await page.locator('.has-error', { hasText: 'A whole number from 1' }).waitFor()
      assert.equal(await page.getByLabel('At least').getAttribute('aria-invalid'), 'true')
      assert.ok(await page.locator('dialog').getByRole('button', { name: 'Scale', exact: true }).isDisabled())
    }
    await page.getByLabel('At least').fill('4')
    await page.getByLabel('At most').fill('2')
    await page.locator('.has-error', { hasText: 'Not less than 4' }).waitFor()
    assert.ok(asked.slice(before).every((each) => each.min <= 4 && (each.max === 0 || each.min <= each.max)), JSON.stringify(asked))

    await page.getByLabel('At most').fill('64')
    await page.getByLabel('At least').fill('64')
    await delta(page, 'none').getByText('It would be refused and ended').waitFor()

    await page.route('**/v1/what-if', (route) => route.fulfill({ status: 403, contentType: 'application/problem+json', body: '{"detail":"not today"}' }))
    await page.getByLabel('At least').fill('4')
    await page.locator('dialog [role=alert]', { hasText: 'not today' }).waitFor()
    await page.unroute('**/v1/what-if')
    await page.getByRole('button', { name: 'Try again' }).click()
    await delta(page, 'none').waitFor()
  })
  await cancel(id)
})

test('a user is not told the names of other tenants’ jobs', async () => {
  const tokens = { ops: { role: 'admin', token: 'of ops' }, ute: { role: 'user', tenant: 'red', token: 'of ute' } }
  const guarded = await new PlatformScene().start({ emulate: '1x8', tokens })
  guarded.token = 'of ops'
  try {
    await guarded.submit({ name: 'secret-of-blue', tenant: 'blue', steps: 20_000 })
    const mine = await guarded.submit({ name: 'mine', tenant: 'red', steps: 10_000, deadline: '40m', workers: { max: 4 } })
    await scaling(guarded, mine, async (page) => {
      await delta(page, 'kept').waitFor()
      const answers = []
      page.on('response', async (reply) => { if (reply.url().endsWith('/v1/what-if')) answers.push(await reply.text()) })
      await page.getByLabel('At most').fill('1')
      await delta(page, 'kept').getByText('1 job of other tenants among them').waitFor()
      assert.equal(await page.getByText('secret-of-blue').count(), 0)
      assert.ok(answers.length > 0 && answers.every((text) => !text.includes('secret')), answers.join('\n'))
    }, { token: 'of ute' })
  } finally {
    await guarded.stop()
  }
})

test('without plans a sparkline shows the past and goes on, marked as not planned', async () => {
  const planless = await new PlatformScene().start({ emulate: '1x8', policy: 'srtf' })
  try {
    const id = await planless.submit({ name: 'resized', steps: 100_000 })
    const hasWorkers = (count) => until(`it has ${count} workers`, async () => (await planless.call('GET', `/v1/jobs/${id}`)).workers === count)
    await hasWorkers(1)
    await planless.call('POST', `/v1/jobs/${id}/scale`, { workers: { min: 2 } })
    await hasWorkers(2)
    const { context, page, faults } = await openPage(browser, planless.url)
    await page.goto('/jobs')
    const spark = page.locator('.job-row', { hasText: 'resized' }).locator('svg.spark[data-planned=false]')
    await spark.waitFor()
    assert.equal(await spark.getAttribute('aria-label'), 'was 1; 2 workers now; not planned')
    assert.equal(await spark.locator('path.spark-past').count(), 1)
    assert.equal(await spark.locator('path.spark-goes-on').count(), 1)
    const past = await spark.locator('path.spark-past').boundingBox()
    assert.ok(past.width > 15 && past.height > 5, JSON.stringify(past))
    await page.locator('.job-row', { hasText: 'resized' }).getByText('not planned', { exact: true }).waitFor()
    assert.deepEqual(await violations(page), [])
    assert.deepEqual(faults, [])
    await context.close()
  } finally {
    await planless.stop()
  }
})
