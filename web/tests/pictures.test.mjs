// The pictures of the documents, taken by `make images`: the plan of a real `rubato demo` while it
// trains, pages of a platform with emulated jobs, and the report of `rubato demo --sim`.
//
// SCREENSHOTS=DIR node --test web/tests/pictures.test.mjs
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import test, { after, before } from 'node:test'
import { openBrowser, openPage, PlatformScene, until } from './scene.mjs'

const BINARY = process.env.RUBATO_BINARY ?? 'build/rubato'
const pictures = process.env.SCREENSHOTS ?? 'build/images'
let browser

before(async () => {
  mkdirSync(pictures, { recursive: true })
  browser = await openBrowser()
})
after(() => browser?.close())

async function take(name, base, path, { act = async () => {}, height = 860 } = {}) {
  const { context, page, faults } = await openPage(browser, base, { viewport: { width: 1440, height } })
  await page.goto(path)
  await page.locator('main h1').first().waitFor()
  await page.waitForFunction(() => !document.querySelector('main .loading'))
  await act(page)
  await page.screenshot({ path: join(pictures, `${name}.png`) })
  assert.deepEqual(faults, [])
  await context.close()
}

test('the plan of the demo, while jobs train under promises', async () => {
  const demo = spawn(BINARY, ['demo'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise((resolve) => demo.on('exit', resolve))
  let output = ''
  demo.stdout.on('data', (data) => { output += data })
  const url = await until('the demo listens', () => / at (http:\S+)/.exec(output)?.[1])
  await until('both promised jobs train, and are far from done', async () => {
    assert.equal(demo.exitCode, null, output)
    const { jobs } = await (await fetch(`${url}/v1/jobs`)).json()
    const promised = jobs.filter((job) => job.promised)
    return promised.length === 2 && promised.every((job) => job.workers > 0 && job.steps_done > 0.1 * job.steps_total)
  }, 300)
  await take('plan-demo', url, '/plan', { height: 620, act: async (page) => {
    await page.locator('.line.is-live').waitFor()
    await page.getByRole('button', { name: 'By job' }).click()
    await page.locator('.gantt-label', { hasText: 'text-by-deadline' }).waitFor()
  } })
  assert.equal(await ended, 0, output)
  console.log(output.slice(output.indexOf('JOB  ')))
})

test('pages of a platform with many emulated GPUs', async () => {
  const names = ['resnet-nightly', 'bert-finetune', 'llm-ablation', 'speech-ctc', 'vision-transformer', 'recsys-dlrm', 'diffusion-small', 'gnn-fraud']
  const scene = await new PlatformScene().start({ emulate: '4x8' })
  try {
    for (const [i, name] of names.entries()) {
      await scene.submit({ name, steps: 4200 + 1700 * (i % 4), tenant: i % 2 ? 'vision' : 'speech', ...(i % 3 === 2 ? {} : { deadline: `${150 + 36 * i}s` }) })
      await until('it trains', async () => (await scene.call('GET', `/v1/jobs/${i + 1}`)).steps_done > 150)
    }
    await until('the first is over', async () => (await scene.call('GET', '/v1/jobs/1')).state === 'SUCCEEDED', 200)
    await until('half of the next is done', async () => {
      const job = await scene.call('GET', '/v1/jobs/4')
      return job.steps_done > 0.5 * job.steps_total
    }, 200)
    await scene.submit({ name: 'too-late', steps: 1e6, deadline: '30s' })
    const live = (page) => page.locator('.line.is-live').waitFor()
    await take('plan', scene.url, '/plan', { act: live })
    await take('what-if', scene.url, '/plan', { act: async (page) => {
      await live(page)
      await page.getByLabel('Node', { exact: true }).selectOption('emulated-02')
      await page.locator('.effects').waitFor()
    } })
    await take('past', scene.url, '/past', { act: (page) => page.locator('.cause').waitFor() })
  } finally {
    await scene.stop()
  }
})

test('the report of a simulated week', async () => {
  execFileSync(BINARY, ['demo', '--sim', '--html', 'build/demo.html'], { stdio: 'ignore' })
  const { context, page, faults } = await openPage(browser, 'file://', { viewport: { width: 1400, height: 900 } })
  await page.goto(`file://${process.cwd()}/build/demo.html`)
  const end = await page.locator('.card', { hasText: 'Who held which GPU' }).boundingBox()
  await page.screenshot({ path: join(pictures, 'report.png'), fullPage: true, clip: { x: 0, y: 0, width: 1400, height: Math.round(end.y + 420) } })
  assert.deepEqual(faults, [])
  await context.close()
})
