// Moments and spans as people read them. Times are in the reader's zone; promises also in the
// platform's, which is UTC.

export const zoneName = () => Intl.DateTimeFormat().resolvedOptions().timeZone || 'local time'
export const ms = (moment?: string) => (moment ? Date.parse(moment) : NaN)

const DAY = 86_400_000
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false })
const shortClock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hour12: false })
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' })
const utc = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false, timeZone: 'UTC' })

const sameDay = (a: number, b: number) => new Date(a).toDateString() === new Date(b).toDateString()

/** `14:03:22`, with the day if it is not today's. */
export function clockText(at: number, now = Date.now()): string {
  if (!Number.isFinite(at)) return '–'
  return sameDay(at, now) ? clock.format(at) : `${day.format(at)} ${shortClock.format(at)}`
}
export const utcText = (at: number) => (Number.isFinite(at) ? `${utc.format(at)} UTC` : '')

/** Two units at most: `3 h 20 min`, `45 s`. */
export function spanText(milliseconds: number): string {
  if (!Number.isFinite(milliseconds)) return '–'
  const seconds = Math.round(Math.abs(milliseconds) / 1000)
  const sign = milliseconds < 0 && seconds > 0 ? '−' : ''
  const d = Math.floor(seconds / 86_400)
  const h = Math.floor((seconds % 86_400) / 3600)
  const m = Math.floor((seconds % 3600) / 60)
  const s = seconds % 60
  if (d > 0) return `${sign}${d} d${h ? ` ${h} h` : ''}`
  if (h > 0) return `${sign}${h} h${m ? ` ${m} min` : ''}`
  if (m > 0) return `${sign}${m} min${s && m < 10 ? ` ${s} s` : ''}`
  return `${sign}${s} s`
}

/** `in 5 min`, `3 h ago`. */
export function relativeText(at: number, now = Date.now()): string {
  if (!Number.isFinite(at)) return '–'
  return at >= now ? `in ${spanText(at - now)}` : `${spanText(now - at)} ago`
}

/** What a deadline field says as RFC 3339; other words are left for the platform to judge. */
export function deadlineText(text: string, now = new Date()): string {
  const trimmed = text.trim()
  const span = /^(?:now\+)?(\d+(?:\.\d+)?)\s*(s|m|min|h|d)$/.exec(trimmed)
  if (span) {
    const unit = { s: 1000, m: 60_000, min: 60_000, h: 3_600_000, d: DAY }[span[2]]!
    return new Date(now.getTime() + Number(span[1]) * unit).toISOString()
  }
  const wall = /^(\d{1,2}):(\d{2})$/.exec(trimmed)
  if (wall && Number(wall[1]) < 24 && Number(wall[2]) < 60) {
    const at = new Date(now)
    at.setHours(Number(wall[1]), Number(wall[2]), 0, 0)
    if (at <= now) at.setDate(at.getDate() + 1)
    return at.toISOString()
  }
  if (/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}$/.test(trimmed)) return new Date(trimmed).toISOString()
  return trimmed
}

/** Moments that divide a span well, and how to write them. */
export function ticks(from: number, to: number, count: number): { at: number; label: string }[] {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400].map((s) => s * 1000)
  const step = steps.find((each) => (to - from) / each <= count) ?? DAY
  const offset = new Date(from).getTimezoneOffset() * 60_000
  const first = Math.ceil((from - offset) / step) * step + offset
  const format = step < 60_000 ? clock : step >= DAY ? day : shortClock
  const all = []
  for (let at = first; at <= to; at += step) all.push({ at, label: format.format(at) })
  return all
}
