// Bundles the dashboard and the page of reports, and writes both as C++ sources, so that they become
// part of the program.
//
// node build.mjs --out DIR     DIR/app.js, app.css, index.html and dashboard_text.cc of the dashboard;
//                              report.js, report.css, report.html and report_text.cc of reports;
//                              sizes.json
import { build } from 'esbuild'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { documentParts } from './document.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const out = process.argv[process.argv.indexOf('--out') + 1]
if (!process.argv.includes('--out') || !out) {
  console.error('usage: node build.mjs --out DIR')
  process.exit(64)
}
mkdirSync(out, { recursive: true })

await build({
  entryPoints: { app: join(here, 'src/main.tsx'), report: join(here, 'src/report/main.tsx') },
  outdir: out,
  bundle: true,
  minify: true,
  format: 'esm',
  target: ['es2021'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  charset: 'utf8',
  logLevel: 'warning',
})
writeFileSync(join(out, 'index.html'), readFileSync(join(here, 'src/index.html')))
const written = (name) => readFileSync(join(out, name), 'utf8')
const report = documentParts(readFileSync(join(here, 'src/report/document.html'), 'utf8'), { script: written('report.js'), style: written('report.css') })
writeFileSync(join(out, 'report.html'), report.join(''))

const files = [
  { path: '/', file: 'index.html', type: 'text/html; charset=utf-8' },
  { path: '/app.js', file: 'app.js', type: 'text/javascript; charset=utf-8' },
  { path: '/app.css', file: 'app.css', type: 'text/css; charset=utf-8' },
  { path: '/icon.svg', file: '../icon.svg', type: 'image/svg+xml' },
].map((entry) => ({
  ...entry,
  bytes: readFileSync(entry.file === '../icon.svg' ? join(here, 'src/icon.svg') : join(out, entry.file)),
}))

// Every byte that is not plain text, as an octal escape; lines of a length that compilers bear.
function literal(bytes) {
  let line = ''
  const lines = []
  for (const byte of bytes) {
    const plain = byte >= 32 && byte < 127 && byte !== 34 && byte !== 92 && byte !== 63
    line += plain ? String.fromCharCode(byte) : '\\' + byte.toString(8).padStart(3, '0')
    if (line.length > 900) {
      lines.push(line)
      line = ''
    }
  }
  lines.push(line)
  return lines.map((each) => `    "${each}"`).join('\n')
}

const entries = files
  .map(
    (each) =>
      `  files["${each.path}"] = {.content_type = "${each.type}",\n    .bytes = std::string(\n${literal(each.bytes)},\n    ${each.bytes.length})};`,
  )
  .join('\n')
writeFileSync(
  join(out, 'dashboard_text.cc'),
  `// Made by web/build.mjs from web/src.
#include "rubato/cli/platform/dashboard.h"

namespace rubato {

StaticFiles dashboard_files() {
  StaticFiles files;
${entries}
  return files;
}

}  // namespace rubato
`,
)
const [toTitle, toText, toData, toEnd] = report.map((part) => literal(Buffer.from(part)))
writeFileSync(
  join(out, 'report_text.cc'),
  `// Made by web/build.mjs from web/src/report.
#include "rubato/report/html_document.h"

namespace rubato {

HtmlDocument html_document() {
  return {.to_title =\n${toTitle},
          .to_text =\n${toText},
          .to_data =\n${toData},
          .to_end =\n${toEnd}};
}

}  // namespace rubato
`,
)

const sizeOf = (bytes) => ({ bytes: bytes.length, gzip: gzipSync(bytes, { level: 9 }).length })
const sizes = Object.fromEntries(files.map((each) => [each.path, sizeOf(each.bytes)]))
const gzip = Object.values(sizes).reduce((sum, each) => sum + each.gzip, 0)
const page = sizeOf(Buffer.from(report.join('')))
writeFileSync(join(out, 'sizes.json'), JSON.stringify({ gzip, report_gzip: page.gzip, files: { ...sizes, report: page } }, null, 2) + '\n')
console.log(`dashboard: ${(gzip / 1024).toFixed(1)} KB gzip, report: ${(page.gzip / 1024).toFixed(1)} KB`)
