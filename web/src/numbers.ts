// Numbers as people read them.

export const percent = (part: number, whole: number) => (whole > 0 ? `${Math.round((100 * part) / whole)} %` : '–')
export const ratioText = (ratio: number) => `${(100 * ratio).toFixed(ratio === 1 || ratio === 0 ? 0 : 1)} %`

export function countText(value: number): string {
  if (!Number.isFinite(value)) return '–'
  if (Math.abs(value) >= 1e6) return `${(value / 1e6).toFixed(1)} M`
  return Math.round(value).toLocaleString('en').replace(/,/g, '\u202f')
}

/** `1 job`, `2 jobs`. */
export const counted = (count: number, noun: string) => `${countText(count)} ${noun}${count === 1 ? '' : 's'}`

export function decimals(value: number, digits = 1): string {
  return Number.isFinite(value) ? value.toFixed(digits) : '–'
}

/** What a curve says of a number of workers it may not have: straight between its points. */
export function speedAt(points: { workers: number; steps_per_second: number }[], workers: number): number {
  const sorted = [...points].sort((a, b) => a.workers - b.workers)
  if (sorted.length === 0 || workers <= 0) return NaN
  if (workers <= sorted[0].workers) return (sorted[0].steps_per_second * workers) / sorted[0].workers
  for (let i = 1; i < sorted.length; i++) {
    const [a, b] = [sorted[i - 1], sorted[i]]
    if (workers <= b.workers) {
      return a.steps_per_second + ((b.steps_per_second - a.steps_per_second) * (workers - a.workers)) / (b.workers - a.workers)
    }
  }
  return sorted[sorted.length - 1].steps_per_second
}

/** Words of a command line; quotes keep blanks together. */
export function shellWords(text: string): string[] {
  const words: string[] = []
  let word = ''
  let quote = ''
  let has = false
  for (let i = 0; i < text.length; i++) {
    const c = text[i]
    if (quote) {
      if (c === quote) quote = ''
      else if (c === '\\' && quote === '"' && i + 1 < text.length) word += text[++i]
      else word += c
    } else if (c === '"' || c === "'") {
      quote = c
      has = true
    } else if (c === '\\' && i + 1 < text.length) {
      word += text[++i]
    } else if (/\s/.test(c)) {
      if (word || has) words.push(word)
      word = ''
      has = false
    } else {
      word += c
    }
  }
  if (word || has) words.push(word)
  return words
}

/** `1:10,2:19` as points; nothing if it is not of that form. */
export function speedPoints(text: string): { workers: number; steps_per_second: number }[] | undefined {
  if (!text.trim()) return []
  const points = text.split(',').map((each) => /^\s*(\d+)\s*:\s*(\d+(?:\.\d+)?)\s*$/.exec(each))
  if (points.some((each) => each === null)) return undefined
  return points.map((each) => ({ workers: Number(each![1]), steps_per_second: Number(each![2]) }))
}
