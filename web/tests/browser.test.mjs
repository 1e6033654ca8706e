// The dashboard in a real browser, at a real `rubato up` with jobs that really run (emulated ones).
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import test, { after, before } from 'node:test'
import { violations } from './axe.mjs'
import { openBrowser, openPage, PlatformScene, until } from './scene.mjs'

const HISTORY_BYTES_MAX = 3_000_000 // A page of 0.2 MB, at most 2 MB of past, and a day's answers.
const TOKEN = 'the token of the operator'
let platform
let browser

before(async () => {
  [platform, browser] = await Promise.all([new PlatformScene().start({ emulate: '4x8' }), openBrowser()])
})
after(async () => {
  await browser?.close()
  await platform?.stop()
})

/** Opens a page, lets the body act, and holds the page to having done nothing it should not. */
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
const fill = (page, fields) => Object.entries(fields).reduce((before, [label, value]) => before.then(() => page.getByLabel(label, { exact: true }).fill(value)), Promise.resolve())
const workersOf = async (id) => (await platform.call('GET', `/v1/jobs/${id}`)).workers
const statIs = (page, label, value) => page.waitForFunction(
  ([name, wanted]) => [...document.querySelectorAll('.stat')].some((each) => each.textContent.includes(name) && each.querySelector('.stat-value').textContent === wanted), [label, value])
async function openForm(page, fields) {
  await page.getByRole('button', { name: 'Submit a job' }).click()
  await page.getByRole('button', { name: 'Emulated' }).click()
  await fill(page, { Speeds: '1:10, 2:19, 4:35, 8:60', ...fields })
}

test('a job submitted by the form is quoted, admitted and shown', () => visit('/jobs', async (page) => {
  await page.getByText('No jobs yet').waitFor()
  await openForm(page, { Name: 'by-form', Steps: '30000', Deadline: '2h' })
  await page.locator('.quote[data-admitted=true]').waitFor()
  await page.getByRole('button', { name: 'Submit', exact: true }).click()

  await page.getByRole('heading', { name: 'by-form' }).waitFor()
  await page.waitForURL('**/jobs/1')
  const job = await platform.call('GET', '/v1/jobs/1')
  assert.equal(job.spec.name, 'by-form')
  assert.ok(job.promised)
  await page.getByText('Promised by').waitFor()
  await page.locator('h1 .badge', { hasText: 'Running' }).waitFor()
}))

test('a resize is seen while it happens, with its cause', () => visit('/jobs/1', async (page) => {
  await until('job 1 has 8 workers', async () => (await workersOf('1')) === 8)
  await statIs(page, 'Workers', '8')
  await platform.call('POST', '/v1/jobs/1/scale', { workers: { max: 2 } })

  await statIs(page, 'Workers', '2')
  await page.locator('.blame li', { hasText: 'scaled job 1' }).waitFor()
}))

test('logs come as they are written', () => visit('/jobs/1', async (page) => {
  await page.locator('.log', { hasText: 'EMULATED' }).waitFor()
  await page.getByText('live', { exact: true }).first().waitFor()
}))

test('an impossible deadline is refused with offers, and an offer can be taken', () => visit('/jobs', async (page) => {
  await openForm(page, { Name: 'too-soon', Steps: '1000000', Deadline: '30s' })
  await page.locator('.quote[data-admitted=false]').waitFor()
  await page.getByRole('button', { name: 'Submit', exact: true }).click()
  await page.getByRole('alert').filter({ hasText: 'was refused' }).waitFor()
  await page.getByRole('button', { name: /Promise it by/ }).waitFor()
  await page.getByRole('button', { name: 'Run it as best effort' }).click()

  await page.getByRole('heading', { name: 'too-soon' }).waitFor()
  const jobs = (await platform.call('GET', '/v1/jobs')).jobs.filter((job) => job.spec.name === 'too-soon')
  assert.deepEqual(jobs.map((job) => job.state === 'REJECTED').sort(), [false, true])
}))

test('wrong fields are named where they are wrong', () => visit('/jobs', async (page) => {
  await openForm(page, { Steps: '100', Deadline: 'tomorrow-ish' })
  await page.getByRole('button', { name: 'Submit', exact: true }).click()
  await page.locator('.has-error', { hasText: 'Deadline' }).waitFor()
  assert.equal(await page.getByLabel('Deadline', { exact: true }).getAttribute('aria-invalid'), 'true')
}))

test('text of users is shown as text', async () => {
  const nasty = '<img src=x onerror="document.title=1"><script>alert(1)</script>'
  const id = await platform.submit({ name: nasty, steps: 40_000, deadline: '3h' })
  for (const path of ['/jobs', `/jobs/${id}`, '/plan', '/past', '/nodes', '/']) {
    await visit(path, async (page) => {
      page.on('dialog', () => assert.fail('a script of a job ran'))
      if (path === '/plan') await page.getByText('The same as a table').click()
      if (path === '/nodes') await page.locator('.slot.used[title*="<img src=x"]').first().waitFor()
      else await page.getByText('<img src=x').first().waitFor()
      assert.equal(await page.locator('main img[src="x"]').count(), 0)
      assert.notEqual(await page.title(), '1')
    })
  }
  await platform.call('POST', `/v1/jobs/${id}/cancel`)
})

test('time travel shows what stood and why it was decided', () => visit('/past', async (page) => {
  await page.locator('.stat', { hasText: 'Jobs not over' }).waitFor()
  const before = page.getByRole('button', { name: 'Decision before' })
  await before.click()
  await before.click()
  await page.getByRole('slider', { name: 'Moment' }).fill(await page.getByRole('slider').getAttribute('min'))
  await statIs(page, 'Jobs not over', '0')

  const submitted = page.locator('.cause', { hasText: 'Job 1 was submitted by' })
  const after = page.getByRole('button', { name: 'Decision after' })
  for (let i = 0; i < 20 && !(await submitted.isVisible()); i++) {
    const old = await page.evaluate(() => document.querySelector('.cause')?.dataset.sequence)
    await after.click()
    await page.waitForFunction((sequence) => document.querySelector('.cause') && document.querySelector('.cause').dataset.sequence !== sequence, old)
  }
  await submitted.waitFor()
  await page.locator('.feed', { hasText: /admitted|promised/i }).waitFor()
  await statIs(page, 'Jobs not over', '1')
}))

test('what if a node were gone: who is hurt is told before it is done', async () => {
  const id = await platform.submit({ name: 'tight', steps: 60_000, deadline: '40m' })
  await visit('/plan', async (page) => {
    await page.getByRole('img', { name: /Jobs on nodes over time/ }).waitFor()
    await page.locator('.node-label', { hasText: 'emulated-02' }).dragTo(page.getByTestId('what-if-tray'))
    await page.getByRole('button', { name: 'Put emulated-02 back' }).waitFor()
    await page.locator('.effects').waitFor()
    await page.getByLabel('Node', { exact: true }).selectOption('emulated-01')
    await page.getByLabel('Node', { exact: true }).selectOption('emulated-03')
    await page.locator('.effects tr', { hasText: /\+.*(s|min|h)/ }).first().waitFor()
    await page.getByRole('button', { name: 'As it is' }).click()
    await page.locator('.effects').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'More added GPUs' }).click()
    await page.locator('.effects', { hasText: 'No promise would break' }).waitFor()
    await page.locator('.gantt-label', { hasText: 'added' }).waitFor()
  })
  const nodes = (await platform.call('GET', '/v1/nodes')).nodes
  assert.ok(nodes.every((node) => node.up && !node.draining), 'asking changed nothing')
  await platform.call('POST', `/v1/jobs/${id}/cancel`)
})

test('a node is drained and comes back', () => visit('/nodes', async (page) => {
  await page.getByRole('button', { name: 'Drain emulated-04' }).click()
  await page.getByRole('dialog').getByText(/deadline/).waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Drain', exact: true }).click()
  await page.getByText(/Drain(ing|ed)/).waitFor()
  await page.getByRole('button', { name: 'Resume emulated-04' }).click()
  await page.getByRole('button', { name: 'Drain emulated-04' }).waitFor()
}))

test('a job is cancelled by its page, after a question', async () => {
  const id = await platform.submit({ name: 'short-lived', steps: 50_000 })
  await visit(`/jobs/${id}`, async (page) => {
    await page.getByRole('button', { name: 'Cancel', exact: true }).click()
    await page.getByRole('button', { name: 'Cancel the job' }).click()
    await page.locator('h1 .badge', { hasText: 'Cancelled' }).waitFor()
  })
})

test('policies are compared on the jobs there are', () => visit('/policies', async (page) => {
  await page.getByRole('button', { name: 'Compare edf', exact: true }).click()
  await page.getByRole('dialog').getByText('Mean time to finish').waitFor()
}))

test('every page is free of what axe-core finds, dark and light, narrow and wide', async () => {
  const id = '1'
  for (const path of ['/', '/jobs', `/jobs/${id}`, '/plan', '/past', '/policies', '/tenants', '/nodes', '/jobs/999']) {
    await visit(path, async (page) => {
      await page.locator('main h1').first().waitFor()
      await page.waitForFunction(() => !document.querySelector('main .loading'))
      for (const [theme, width, height] of [['light', 1440, 900], ['dark', 390, 844]]) {
        await page.setViewportSize({ width, height })
        await page.emulateMedia({ colorScheme: theme })
        await page.waitForFunction((name) => document.documentElement.dataset.theme === name, theme)
        assert.deepEqual(await violations(page), [], `${path} ${theme}`)
        const beyond = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
        assert.ok(beyond <= 0, `${path}: ${beyond} pixels beyond the edge`)
      }
    }, { reducedMotion: 'reduce' })
  }
  await visit('/jobs', async (page) => {
    await openForm(page, { Name: 'x', Steps: '1000000', Deadline: '30s' })
    await page.locator('.quote[data-admitted=false]').waitFor()
    assert.deepEqual(await violations(page), [], 'the form')
  })
})

test('the keyboard alone leads from page to page and through a dialog', () => visit('/', async (page) => {
  await page.locator('main h1').waitFor()
  await page.getByRole('link', { name: 'Jobs', exact: true }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Submit a job' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.goto('/plan')
  const canvas = page.getByRole('img', { name: /Jobs on nodes/ })
  await canvas.focus()
  const label = await canvas.getAttribute('aria-label')
  await page.keyboard.press('ArrowLeft')
  await page.waitForFunction((old) => document.querySelector('canvas').getAttribute('aria-label') !== old, label)
}))

test('the history is one file that looks the same without a server', async () => {
  const file = join(platform.folder, 'history.html')
  execFileSync(process.env.RUBATO_BINARY ?? 'build/rubato', ['report', '--html', file, '--server', platform.url])
  const { context, page, faults } = await openPage(browser, 'file://')
  await page.goto(`file://${file}`)
  await page.getByText('The history of a platform as of').waitFor()
  await page.getByLabel('Pages').getByRole('link', { name: 'Plan' }).click()
  await page.getByRole('img', { name: /Jobs on nodes over time/ }).waitFor()
  await page.getByLabel('Pages').getByRole('link', { name: 'Jobs' }).click()
  await page.getByRole('link', { name: 'by-form' }).click()
  await page.getByText('Speed against prediction').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Cancel' }).count(), 0)
  assert.deepEqual(await violations(page), [])

  await page.getByLabel('Pages').getByRole('link', { name: 'Time travel' }).click()
  const now = await page.getByTestId('state-at').textContent()
  await page.getByRole('slider', { name: 'Moment' }).fill(await page.getByRole('slider').getAttribute('min'))
  await statIs(page, 'Jobs not over', '0')
  assert.notEqual(await page.getByTestId('state-at').textContent(), now)
  await page.getByRole('button', { name: 'Decision after' }).click()
  const submitted = page.locator('.cause', { hasText: 'Job 1 was submitted by' })
  for (let i = 0; i < 20 && !(await submitted.isVisible()); i++) await page.getByRole('button', { name: 'Decision after' }).click()
  await submitted.waitFor()
  assert.deepEqual(await violations(page), [])
  assert.deepEqual(faults, [])
  assert.ok(statSync(file).size < HISTORY_BYTES_MAX, `${statSync(file).size} bytes`)
  await context.close()
})

test('the headers forbid inline scripts and frames', async () => {
  const reply = await fetch(`${platform.url}/plan`, { headers: { Accept: 'text/html' } })
  assert.equal(reply.status, 200)
  const policy = reply.headers.get('content-security-policy')
  assert.match(policy, /default-src 'none'/)
  assert.match(policy, /frame-ancestors 'none'/)
  assert.doesNotMatch(policy, /unsafe/)
  assert.equal(reply.headers.get('x-content-type-options'), 'nosniff')
})

test('a wrong token is rejected, a right one lets in and stays out of addresses', async () => {
  const guarded = await new PlatformScene().start({ emulate: '1x2', tokens: { ops: { role: 'admin', token: TOKEN }, vera: { role: 'viewer', token: 'only looks' } } })
  guarded.token = TOKEN
  try {
    const { context, page, faults } = await openPage(browser, guarded.url)
    const addresses = []
    page.on('request', (request) => addresses.push(request.url()))
    await page.goto('/jobs')
    await page.getByLabel('Token').fill('a guess')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('This token is not known here.').first().waitFor()
    assert.deepEqual(await violations(page), [])
    await page.getByLabel('Token').fill(TOKEN)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: 'Submit a job' }).waitFor()
    await page.reload()
    await page.getByRole('button', { name: 'Submit a job' }).waitFor()
    assert.ok(addresses.every((each) => !each.includes('token') && !each.includes(encodeURIComponent(TOKEN))))
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Token').fill('only looks')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('No jobs yet').waitFor()
    assert.equal(await page.getByRole('button', { name: 'Submit a job' }).count(), 0)
    assert.deepEqual(faults, [])
    await context.close()
  } finally {
    await guarded.stop()
  }
})

test('a platform that goes away is missed', async () => {
  const mortal = await new PlatformScene().start({ emulate: '1x2' })
  const { context, page } = await openPage(browser, mortal.url)
  await page.goto('/')
  await page.locator('.line.is-live').waitFor()
  mortal.process.kill('SIGKILL')
  await mortal.ended
  await page.getByRole('alert').filter({ hasText: 'connection to the platform is lost' }).waitFor()
  await context.close()
  await mortal.stop()
})

test('of more jobs than one answer holds the oldest is followed too', async () => {
  const crowd = await new PlatformScene().start({ emulate: '1x1', policy: 'fifo' })
  try {
    const first = await crowd.submit({ name: 'the-first', steps: 1e6 })
    for (let i = 0; i < 1100; i += 50) await Promise.all(Array.from({ length: 50 }, () => crowd.submit({ name: 'waiting' })))
    const { page, faults, context } = await openPage(browser, crowd.url)
    await page.goto('/jobs')
    await page.getByLabel('Search').fill('the-first')
    await page.locator('.job-row .badge', { hasText: 'Running' }).waitFor()
    await crowd.call('POST', `/v1/jobs/${first}/cancel`)

    await page.locator('.job-row .badge', { hasText: 'Cancelled' }).waitFor()
    assert.deepEqual(faults, [])
    await context.close()
  } finally {
    await crowd.stop()
  }
})
