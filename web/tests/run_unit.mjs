// Runs tests/unit.test.ts, and holds the bundle to its size.
//
// node run_unit.mjs DIR     DIR is where build.mjs wrote to
import { build } from 'esbuild'
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import test from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'

const GZIP_BYTES_MAX = 100 * 1024
const here = dirname(fileURLToPath(import.meta.url))
const out = process.argv[2]

const folder = mkdtempSync(join(tmpdir(), 'rubato-unit-'))
const file = join(folder, 'unit.mjs')
await build({
  entryPoints: [join(here, 'unit.test.ts')], outfile: file, bundle: true, format: 'esm', platform: 'node',
  jsx: 'automatic', jsxImportSource: 'preact', logLevel: 'warning',
})
const { run } = await import(pathToFileURL(file))
rmSync(folder, { recursive: true })
run(test, { deepEqual: assert.deepEqual, equal: assert.equal, ok: assert.ok })

test('the bundle is below 100 KB gzip, and asks nobody else for anything', () => {
  const sizes = JSON.parse(readFileSync(join(out, 'sizes.json'), 'utf8'))
  assert.ok(sizes.gzip < GZIP_BYTES_MAX, `${sizes.gzip} bytes`)
  for (const name of ['app.js', 'app.css', 'index.html']) {
    const text = readFileSync(join(out, name), 'utf8').replaceAll('http://www.w3.org/', '')
    assert.doesNotMatch(text, /https?:\/\/(?!\$)/, name)
  }
  assert.doesNotMatch(readFileSync(join(out, 'index.html'), 'utf8'), /<script(?![^>]*src=)|\sstyle=|\son\w+=/i)
})
