// A question that changes while it is written. It is asked when the writer pauses, one at a time
// whatever is typed meanwhile, and only the answer to the last one is told: the platform plays a
// whole future for each.
import { useEffect, useRef, useState } from 'preact/hooks'

export interface Asked<A> { answer?: A; error?: Error; isAsking: boolean }

export const PAUSE_MS = 300

export class LastQuestion<Q, A> {
  private wanted?: Q
  private version = 0
  private isBusy = false
  private timer?: ReturnType<typeof setTimeout>

  constructor(private ask: (question: Q) => Promise<A>, private tell: (asked: Asked<A>) => void, private pause = PAUSE_MS) {}

  /** Nothing: there is nothing to ask just now. */
  put(question?: Q): void {
    this.version++
    this.wanted = question
    clearTimeout(this.timer)
    this.timer = undefined
    this.tell({ isAsking: question !== undefined })
    if (question !== undefined) this.timer = setTimeout(() => { this.timer = undefined; void this.go() }, this.pause)
  }

  close(): void {
    this.version++
    this.wanted = undefined
    clearTimeout(this.timer)
    this.tell = () => {}
  }

  private async go(): Promise<void> {
    if (this.isBusy || this.wanted === undefined) return
    this.isBusy = true
    const version = this.version
    const told = await this.ask(this.wanted).then((answer): Asked<A> => ({ answer, isAsking: false }), (error: Error): Asked<A> => ({ error, isAsking: false }))
    this.isBusy = false
    if (version === this.version) this.tell(told)
    else if (!this.timer) void this.go()
  }
}

/** The last answer stays in sight until there is another. */
export function useLastQuestion<Q, A>(question: Q | undefined, ask: (question: Q) => Promise<A>): Asked<A> & { again: () => void } {
  const [asked, setAsked] = useState<Asked<A>>({ isAsking: question !== undefined })
  const line = useRef<LastQuestion<Q, A>>()
  useEffect(() => {
    line.current = new LastQuestion(ask, (told) => setAsked((old) => (told.isAsking ? { answer: old.answer, isAsking: true } : told)))
    return () => line.current?.close()
  }, [])
  useEffect(() => line.current!.put(question), [JSON.stringify(question)])
  return { ...asked, again: () => line.current!.put(question) }
}
