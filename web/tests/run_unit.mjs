// Runs the tests of pure functions, and holds the bundles to their size.
//
// node run_unit.mjs DIR     DIR is where build.mjs wrote to
import { build } from 'esbuild'
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import test from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { documentParts } from '../document.mjs'
import { grownTooMuch } from './session.mjs'

const GZIP_BYTES_MAX = 100 * 1024
const here = dirname(fileURLToPath(import.meta.url))
const out = process.argv[2]

const NAMES = ['unit.test', 'report_unit.test', 'scale_unit.test', 'metric_unit.test']
const folder = mkdtempSync(join(tmpdir(), 'rubato-unit-'))
await build({
  entryPoints: NAMES.map((name) => join(here, `${name}.ts`)), outdir: folder, bundle: true, format: 'esm', platform: 'node',
  outExtension: { '.js': '.mjs' }, jsx: 'automatic', jsxImportSource: 'preact', logLevel: 'warning',
})
for (const name of NAMES) {
  const { run } = await import(pathToFileURL(join(folder, `${name}.mjs`)))
  run(test, { deepEqual: assert.deepEqual, equal: assert.equal, ok: assert.ok })
}
rmSync(folder, { recursive: true })

test('each bundle is below 100 KB gzip, and asks nobody else for anything', () => {
  const sizes = JSON.parse(readFileSync(join(out, 'sizes.json'), 'utf8'))
  assert.ok(sizes.gzip < GZIP_BYTES_MAX, `${sizes.gzip} bytes`)
  assert.ok(sizes.report_gzip < GZIP_BYTES_MAX, `${sizes.report_gzip} bytes`)
  for (const name of ['app.js', 'app.css', 'index.html', 'report.html']) {
    const text = readFileSync(join(out, name), 'utf8').replaceAll('http://www.w3.org/', '')
    assert.doesNotMatch(text, /https?:\/\/(?!\$)/, name)
  }
  assert.doesNotMatch(readFileSync(join(out, 'index.html'), 'utf8'), /<script(?![^>]*src=)|\sstyle=|\son\w+=/i)
})

test('a document is taken apart at its marks, and what is filled in is left alone', () => {
  const template = '{script-hash}{style-hash}{title}|{style}|{text}|{data}|{script}'
  const parts = documentParts(template, { script: 'f({title, style} = "{style}$&")', style: 'a{}' })
  assert.equal(parts.length, 4)
  assert.match(parts[0], /^'sha256-[\w+/]{43}=''sha256-[\w+/]{43}='$/)
  assert.deepEqual(parts.slice(1), ['|a{}|', '|', '|f({title, style} = "{style}$&")'])
  assert.throws(() => documentParts(template, { script: '"</script>"', style: '' }))
  assert.throws(() => documentParts(template, { script: '', style: '</style>' }))
  assert.throws(() => documentParts(template.replace('{data}', ''), { script: '', style: '' }))
  assert.throws(() => documentParts('{script-hash}{style-hash}{text}{title}{style}{data}{script}', { script: '', style: '' }))
})

test('memory that grows with a session is told from memory that settles', () => {
  const flat = Array(12).fill(2000)
  const heap = (at) => Array.from({ length: 12 }, (_, round) => at(round))
  assert.deepEqual(grownTooMuch({ heap_mb: heap((round) => (round === 0 ? 4 : 11 + 0.3 * (round % 3))), nodes: flat }), [])
  assert.match(grownTooMuch({ heap_mb: heap((round) => 11 + 0.25 * round), nodes: flat })[0], /heap grew by 2.0 MB/)
  assert.match(grownTooMuch({ heap_mb: heap(() => 11), nodes: heap((round) => 2000 + 100 * round) })[0], /800 more nodes/)
})
