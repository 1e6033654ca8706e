// The page of a report: style and script in one document, in four parts between which the program
// writes title, text and data of a run. A policy inside lets no other script or style in, and
// nothing out: foreign text could do no harm even if it became markup.
import { createHash } from 'node:crypto'

const MARKS = ['{title}', '{text}', '{data}']

function hashOf(text) {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}

/** The parts before, between and after MARKS; throws if they could not be put together again. */
export function documentParts(template, { script, style }) {
  if (/<\/script|<!--/i.test(script) || /<\/style/i.test(style)) throw new Error('script or style would end before its end')
  const fillings = { '{script}': script, '{style}': style, '{script-hash}': hashOf(script), '{style-hash}': hashOf(style) }
  for (const mark of [...MARKS, ...Object.keys(fillings)]) {
    if (template.split(mark).length !== 2) throw new Error(`the document has ${mark} not once`)
  }
  // In one pass: what is filled in is not looked through again.
  const fill = (text) => text.replace(/\{(?:script|style)(?:-hash)?\}/g, (mark) => fillings[mark])
  const parts = []
  let rest = template
  for (const mark of MARKS) {
    const [before, after] = rest.split(mark)
    if (after === undefined) throw new Error(`${mark} is not in its place`)
    parts.push(fill(before))
    rest = after
  }
  return [...parts, fill(rest)]
}
