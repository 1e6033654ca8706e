// Nodes: health, what runs on each, drain and maintenance.
import { useState } from 'preact/hooks'
import { send } from '../api'
import { useLoad, useTick } from '../load'
import { Badge, Card, Dialog, Empty, Failure, Field, jobName, Link, Meter, Shown } from '../parts'
import { Slots } from '../slots'
import { may, useStore } from '../store'
import { clockText, ms, relativeText, zoneName } from '../time'
import type { NodeStatus, WhatIfReply } from '../types'

function health(node: NodeStatus): [string, string] {
  const now = Date.now()
  if (node.draining) return ['warn', node.slots_used ? 'Draining' : 'Drained']
  if (node.maintenance.some((each) => ms(each.from) <= now && now < ms(each.to))) return ['warn', 'Maintenance']
  return node.up ? ['good', 'Up'] : ['bad', 'Down']
}

/** Names and memory of its GPUs, if they say more than the type does. */
const devices = (node: NodeStatus) => [...new Set(node.slot.map((slot) => slot.device))].filter((device) => device && device !== node.gpu_type)

function Maintenance(props: { node: NodeStatus; onClose: () => void }) {
  const local = (at: number) => new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
  const [from, setFrom] = useState(local(Date.now() + 3_600_000))
  const [to, setTo] = useState(local(Date.now() + 5 * 3_600_000))
  const [error, setError] = useState<Error>()
  const submit = async (event: Event) => {
    event.preventDefault()
    try {
      await send('PATCH', `/v1/nodes/${encodeURIComponent(props.node.name)}`, { maintenance: { from: new Date(from).toISOString(), to: new Date(to).toISOString() } })
      props.onClose()
    } catch (failure) { setError(failure as Error) }
  }
  return (
    <Dialog title={`Maintenance of ${props.node.name}`} onClose={props.onClose}>
      <form class="stacked" onSubmit={submit}>
        <p class="muted">Jobs are planned around the window. Times in {zoneName()}.</p>
        <div class="fields">
          <Field label="From">{(id) => <input id={id} type="datetime-local" value={from} onInput={(event) => setFrom(event.currentTarget.value)} />}</Field>
          <Field label="Until">{(id) => <input id={id} type="datetime-local" value={to} onInput={(event) => setTo(event.currentTarget.value)} />}</Field>
        </div>
        {error && <Failure error={error} />}
        <footer class="dialog-foot"><button type="button" onClick={props.onClose}>Close</button><button class="primary">Plan it</button></footer>
      </form>
    </Dialog>
  )
}

function Drain(props: { node: NodeStatus; onClose: () => void }) {
  const what = useLoadOnce(props.node.name)
  const [error, setError] = useState<Error>()
  const drain = async () => {
    try {
      await send('PATCH', `/v1/nodes/${encodeURIComponent(props.node.name)}`, { drain: true })
      props.onClose()
    } catch (failure) { setError(failure as Error) }
  }
  const later = what.data?.jobs.filter((job) => ms(job.finish_then) > ms(job.finish_now) + 1000 || (job.finish_now && !job.finish_then)) ?? []
  const broken = what.data?.jobs.filter((job) => job.met_now && !job.met_then && ms(job.finish_now)) ?? []
  return (
    <Dialog title={`Drain ${props.node.name}?`} onClose={props.onClose}>
      <p>Its jobs move or shrink; nothing new is put there.</p>
      {what.data ? <p role="status">{broken.length ? <Badge tone="bad">{broken.length} deadlines would be missed</Badge> : <Badge tone="good">No deadline would be missed</Badge>} {later.length} of {what.data.jobs.length} jobs would finish later.</p>
        : what.error ? <p class="muted">What would follow is not known: {what.error.message}</p> : <p class="muted" role="status">Playing it on…</p>}
      {error && <Failure error={error} />}
      <footer class="dialog-foot"><button onClick={props.onClose}>Leave it</button><button class="danger" onClick={drain}>Drain</button></footer>
    </Dialog>
  )
}

function useLoadOnce(node: string): { data?: WhatIfReply; error?: Error } {
  const [state, setState] = useState<{ data?: WhatIfReply; error?: Error; node?: string }>({})
  if (state.node !== node) {
    setState({ node })
    send<WhatIfReply>('POST', '/v1/what-if', { remove_nodes: [node] }).then((data) => setState({ data, node }), (error) => setState({ error, node }))
  }
  return state
}

export function Nodes() {
  const store = useStore()
  useTick(5000)
  const nodes = useLoad<{ nodes: NodeStatus[] }>('/v1/nodes', { every: 10_000, on: () => true, pause: 800 })
  const [dialog, setDialog] = useState<{ kind: 'drain' | 'maintenance'; node: NodeStatus }>()
  const [error, setError] = useState<Error>()
  const name = (id: string) => { const job = store.jobs.get(id); return job ? jobName(job) : `job ${id}` }
  const resume = async (node: NodeStatus) => {
    try { await send('PATCH', `/v1/nodes/${encodeURIComponent(node.name)}`, { resume: true }); nodes.reload() } catch (failure) { setError(failure as Error) }
  }
  const close = () => { setDialog(undefined); nodes.reload() }
  return (
    <div class="page">
      <div class="page-head"><h1>Nodes</h1><Link class="quiet-link" to="/plan">What if a node went?</Link></div>
      {error && <Failure error={error} />}
      <Shown of={nodes}>
        {(data) => data.nodes.length === 0 ? <div class="card"><Empty title="No nodes">Agents bring them: <code>rubato up</code>, or <code>rubato agent</code> on other machines.</Empty></div> : (
          <div class="node-grid">
            {data.nodes.map((node) => {
              const [tone, word] = health(node)
              return (
                <Card key={node.name} title={node.name} actions={<Badge tone={tone}>{word}</Badge>}>
                  <p class="muted small">{node.slots_used} of {node.slots} slots in use{node.gpu_type && ` · ${node.gpu_type}`} · agent {node.agent}{node.emulated && node.gpu_type !== 'emulated' && ' · emulated'}{node.heard && ` · heard ${relativeText(ms(node.heard))}`}</p>
                  <Meter value={node.slots_used} max={node.slots} label={`Slots of ${node.name} in use`} />
                  <Slots node={node} name={name} big />
                  {devices(node).length > 0 && <p class="muted small">{devices(node).join(', ')}</p>}
                  {node.maintenance.map((window) => <p key={window.from} class="small">Closed {clockText(ms(window.from))} – {clockText(ms(window.to))}</p>)}
                  {may('admin') && (
                    <div class="actions">
                      {node.draining ? <button onClick={() => resume(node)} aria-label={`Resume ${node.name}`}>Resume</button> : <button onClick={() => setDialog({ kind: 'drain', node })} aria-label={`Drain ${node.name}`}>Drain</button>}
                      <button onClick={() => setDialog({ kind: 'maintenance', node })} aria-label={`Maintenance of ${node.name}`}>Maintenance</button>
                    </div>
                  )}
                </Card>
              )
            })}
          </div>
        )}
      </Shown>
      {dialog?.kind === 'drain' && <Drain node={dialog.node} onClose={close} />}
      {dialog?.kind === 'maintenance' && <Maintenance node={dialog.node} onClose={close} />}
    </div>
  )
}
