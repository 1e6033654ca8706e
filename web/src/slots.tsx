// The slots of a node as a row of squares in the colours of their jobs.
import { jobHue } from './colors'
import { go } from './router'
import type { NodeStatus } from './types'

export function Slots(props: { node: NodeStatus; name: (job: string) => string; big?: boolean }) {
  const { node } = props
  return (
    <div class={`slots ${props.big ? 'big' : ''}`}>
      {node.slot.map((slot) => {
        const words = slot.job ? `slot ${slot.index}: ${props.name(slot.job)}${slot.releasing ? ', letting go' : ''}` : `slot ${slot.index}: free`
        return slot.job
          ? <button key={slot.index} class={`slot used ${slot.releasing ? 'releasing' : ''}`} style={{ background: `hsl(${jobHue(slot.job)} 50% 55%)` }} title={words} aria-label={words} onClick={() => go(`/jobs/${slot.job}`)} />
          : <i key={slot.index} class="slot" title={words} role="img" aria-label={words} />
      })}
    </div>
  )
}
