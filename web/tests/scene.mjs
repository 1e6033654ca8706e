// A real platform and a real browser for tests.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright-core'

const BINARY = process.env.RUBATO_BINARY ?? 'build/rubato'
const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync)

/** Waits until `check` gives something; a condition, never a time, decides. */
export async function until(what, check, seconds = 60) {
  const end = Date.now() + seconds * 1000
  for (;;) {
    const found = await check()
    if (found) return found
    if (Date.now() > end) throw new Error(`waited ${seconds} s in vain until ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/** `rubato up` in a folder of its own, with pretended machines or, without them, eight slots of this one. */
export class PlatformScene {
  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), 'rubato-web-'))
    this.token = ''
  }

  async start({ emulate = '4x8', tokens = {}, policy } = {}) {
    const line = ['up', ...(emulate ? ['--emulate', emulate] : ['--slots', '8']), '--port', '0', '--state', join(this.folder, 'state')]
    if (policy) line.push('--policy', policy)
    if (Object.keys(tokens).length) {
      const file = join(this.folder, 'tokens')
      writeFileSync(file, Object.entries(tokens).map(([name, { role, tenant = '-', token }]) =>
        `${name} ${role} ${tenant} ${createHash('sha256').update(token).digest('hex')}\n`).join(''))
      chmodSync(file, 0o600)
      line.push('--tokens', file)
    }
    this.process = spawn(BINARY, line, { stdio: ['ignore', 'pipe', 'pipe'] })
    this.output = ''
    for (const stream of [this.process.stdout, this.process.stderr]) stream.on('data', (data) => { this.output += data })
    this.ended = new Promise((resolve) => this.process.on('exit', resolve))
    this.url = await until('the platform listens', () => {
      if (this.process.exitCode !== null) throw new Error(`rubato up ended: ${this.output}`)
      return /listens on (\S+)/.exec(this.output)?.[1]
    })
    return this
  }

  async call(method, path, body) {
    const reply = await fetch(this.url + path, {
      method,
      headers: { 'Content-Type': 'application/json', ...(this.token && { Authorization: `Bearer ${this.token}` }) },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    const text = await reply.text()
    if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${text}`)
    return text ? JSON.parse(text) : undefined
  }

  /** An emulated job; its number. */
  async submit(more = {}) {
    const speeds = [1, 2, 4, 8].map((workers) => ({ workers, steps_per_second: 10 * workers ** 0.92 }))
    const reply = await this.call('POST', '/v1/jobs', { kind: 'emulated', model: 'm', steps: 2000, speeds, ...more })
    return reply.job.id
  }

  /** A platform that ends leaves its jobs running: they are cancelled first. */
  async stop() {
    try {
      await until('all jobs are over', async () => {
        const { jobs } = await this.call('GET', '/v1/jobs?state=ACTIVE&page_size=1000')
        for (const job of jobs) await this.call('POST', `/v1/jobs/${job.id}/cancel`)
        return jobs.length === 0
      }, 30)
    } catch { /* It may be down already. */ }
    this.process.kill('SIGTERM')
    await this.ended
    rmSync(this.folder, { recursive: true, force: true })
  }
}

export async function openBrowser() {
  if (!CHROMIUM) throw new Error('no chromium: run tools/deps.sh')
  return chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  })
}

/** A page that notes all that should not happen: errors, and requests to anybody else. */
export async function openPage(browser, base, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, baseURL: base, ...options })
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  const faults = []
  // For those who work on the dashboard: the files of DASHBOARD in place of those in the program.
  for (const name of process.env.DASHBOARD ? ['app.js', 'app.css'] : []) {
    await page.route(`**/${name}`, (route) => route.fulfill({ path: join(process.env.DASHBOARD, name) }))
  }
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`))
  page.on('console', (message) => {
    if (message.type() === 'error' && !/status of 4\d\d|net::ERR_(ABORTED|CONNECTION_REFUSED|INCOMPLETE_CHUNKED)/.test(message.text())) faults.push(`console: ${message.text()}`)
  })
  page.on('request', (request) => { if (!request.url().startsWith(base)) faults.push(`request to ${request.url()}`) })
  return { context, page, faults }
}
