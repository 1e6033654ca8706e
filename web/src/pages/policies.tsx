// Policies: which one decides, which one watches, and how they would differ.
import { useState } from 'preact/hooks'
import { send } from '../api'
import { useLoad } from '../load'
import { percent, ratioText } from '../numbers'
import { Badge, Card, Dialog, Empty, Failure, Shown, Stat } from '../parts'
import { may } from '../store'
import { spanText } from '../time'
import type { PolicyEntry, PolicyStatus, WhatIfReply } from '../types'

function Comparison(props: { policy: string; live: string; reply: WhatIfReply }) {
  const { reply } = props
  const row = (label: string, now: string, then: string, tone = '') => <tr><th scope="row">{label}</th><td>{now}</td><td class={tone}>{then}</td></tr>
  const met = reply.deadlines_met_ratio_then - reply.deadlines_met_ratio_now
  const mean = reply.mean_finish_seconds_then - reply.mean_finish_seconds_now
  return (
    <div role="status">
      <table>
        <thead><tr><td /><th scope="col">{props.live}</th><th scope="col">{props.policy}</th></tr></thead>
        <tbody>
          {row('Deadlines met', ratioText(reply.deadlines_met_ratio_now), ratioText(reply.deadlines_met_ratio_then), met < 0 ? 'bad' : met > 0 ? 'good' : '')}
          {row('Mean time to finish', spanText(reply.mean_finish_seconds_now * 1000), spanText(reply.mean_finish_seconds_then * 1000), mean > 1 ? 'bad' : mean < -1 ? 'good' : '')}
          {row('Jobs that finish', String(reply.jobs.filter((job) => job.finish_now).length), String(reply.jobs.filter((job) => job.finish_then).length))}
        </tbody>
      </table>
      <p class="muted small">The {reply.jobs.length} jobs there are now, played on by the simulator under each.</p>
    </div>
  )
}

export function Policies() {
  const status = useLoad<PolicyStatus>('/v1/policy', { every: 15_000, on: (event) => event.type.startsWith('policy.') })
  const list = useLoad<{ policies: PolicyEntry[] }>('/v1/policies')
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState<PolicyEntry>()
  const [reply, setReply] = useState<WhatIfReply>()
  const [error, setError] = useState<Error>()
  const choose = (policy: PolicyEntry) => {
    setChosen(policy)
    setReply(undefined)
    setError(undefined)
    if (may('admin')) send<WhatIfReply>('POST', '/v1/what-if', { policy: policy.name }).then(setReply, setError)
  }
  const put = async (path: string) => {
    try {
      status.set(await send<PolicyStatus>('PUT', path, { policy: chosen!.name }))
      setChosen(undefined)
      status.reload()
    } catch (failure) { setError(failure as Error) }
  }
  const isFound = (each: PolicyEntry) => [each.name, each.paper, each.objective].some((part) => part.toLowerCase().includes(text.toLowerCase()))
  return (
    <div class="page">
      <h1>Policies</h1>
      <Shown of={status} lines={2}>
        {(data) => (
          <div class="stats">
            <Stat label="Decides" value={data.live} note="the live policy" />
            <Stat label="Watches" value={data.shadow || 'none'} note={data.shadow ? 'gets the same events, moves nothing' : 'set one to compare on the real workload'} />
            <Stat label="Answers that differ" value={data.shadow && data.answers ? percent(data.answers_differ, data.answers) : '–'} note={data.shadow ? `${data.answers_differ} of ${data.answers} jobs since the shadow began` : undefined} />
            <Stat label="Deadlines met" value={data.shadow && data.answers ? ratioText(data.live_deadlines_met_ratio) : '–'} note={data.shadow && data.answers ? `${ratioText(data.shadow_deadlines_met_ratio)} by the shadow` : undefined} />
          </div>
        )}
      </Shown>
      <Card title="All policies" actions={<label class="inline-label"><span>Search</span><input type="search" value={text} onInput={(event) => setText(event.currentTarget.value)} /></label>}>
        <Shown of={list} lines={8}>
          {(data) => {
            const found = data.policies.filter(isFound)
            return found.length === 0 ? <Empty title="No policy is like that" /> : (
              <div class="scroll-box tall" tabIndex={0} role="region" aria-label="Policies">
                <table class="policies">
                  <thead><tr><th scope="col">Name</th><th scope="col">Objective</th><th scope="col" class="hide-small">Use when</th><th scope="col" class="hide-small">After</th><th scope="col"><span class="sr-only">Compare</span></th></tr></thead>
                  <tbody>{found.map((policy) => (
                    <tr key={policy.name}>
                      <td class="strong nowrap">{policy.name} {policy.name === status.data?.live && <Badge tone="go">live</Badge>}{policy.name === status.data?.shadow && <Badge tone="look">shadow</Badge>}</td>
                      <td>{policy.objective}</td><td class="hide-small muted">{policy.use_when}</td><td class="hide-small muted small">{policy.paper}</td>
                      <td><button onClick={() => choose(policy)} aria-label={`Compare ${policy.name}`}>Compare</button></td>
                    </tr>
                  ))}</tbody>
                </table>
              </div>
            )
          }}
        </Shown>
      </Card>
      {chosen && (
        <Dialog title={chosen.name} onClose={() => setChosen(undefined)}>
          <p>{chosen.objective}. <span class="muted">{chosen.paper}; {chosen.fidelity}. Needs {chosen.needs}.{chosen.options && ` Options: ${chosen.options}.`}</span></p>
          {!may('admin') ? <p class="muted">Only admins may compare and set policies.</p>
            : reply ? <Comparison policy={chosen.name} live={status.data?.live ?? 'now'} reply={reply} />
              : error ? <Failure error={error} /> : <p class="muted" role="status">Playing today’s jobs on…</p>}
          <footer class="dialog-foot">
            <button onClick={() => setChosen(undefined)}>Close</button>
            {may('admin') && <button onClick={() => put('/v1/policy/shadow')}>Let it watch</button>}
            {may('admin') && <button class="primary" onClick={() => put('/v1/policy')} disabled={chosen.name === status.data?.live}>Let it decide</button>}
          </footer>
        </Dialog>
      )}
    </div>
  )
}
