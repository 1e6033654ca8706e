// The platform's events as they happen. Browsers' own EventSource cannot send a token, so the
// stream is read by hand; after a break it goes on where it was.
import { open } from './api'
import type { EventRecord } from './types'

export interface StreamState { connected: boolean }

/** Complete messages of a stream, and what is left of an incomplete one. */
export function splitMessages(buffer: string): { messages: string[]; rest: string } {
  const parts = buffer.split('\n\n')
  const rest = parts.pop() ?? ''
  return { messages: parts, rest }
}

/** The record in one message; nothing in comments. */
export function recordOf(message: string): EventRecord | undefined {
  const data = message.split('\n').filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trimStart())
  if (data.length === 0) return undefined
  try { return JSON.parse(data.join('\n')) } catch { return undefined }
}

const PAUSE_MIN = 500
const PAUSE_MAX = 15_000

/** Follows events after `since` until the signal ends it. */
export async function follow(
  since: string,
  onEvents: (events: EventRecord[]) => void,
  onState: (state: StreamState) => void,
  signal: AbortSignal,
): Promise<void> {
  let last = since
  let pause = PAUSE_MIN
  while (!signal.aborted) {
    try {
      const reply = await open(`/v1/events?since=${last}`, { headers: { Accept: 'text/event-stream' }, signal })
      const reader = reply.body!.pipeThrough(new TextDecoderStream()).getReader()
      onState({ connected: true })
      let rest = ''
      for (;;) {
        const { value, done } = await reader.read()
        if (done) break
        pause = PAUSE_MIN
        const split = splitMessages(rest + value)
        rest = split.rest
        const records = split.messages.map(recordOf).filter((each): each is EventRecord => each !== undefined)
        if (records.length > 0) {
          last = records[records.length - 1].sequence
          onEvents(records)
        }
      }
    } catch (error) {
      if (signal.aborted) return
      if ((error as { status?: number }).status === 401) return
    }
    onState({ connected: false })
    await new Promise((resolve) => setTimeout(resolve, pause))
    pause = Math.min(pause * 2, PAUSE_MAX)
  }
}
