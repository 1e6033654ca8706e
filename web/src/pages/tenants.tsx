// Tenants and their queues: what each is guaranteed, uses and has left.
import { useMemo, useState } from 'preact/hooks'
import { send } from '../api'
import { useLoad } from '../load'
import { decimals } from '../numbers'
import { Card, Dialog, Empty, Failure, Field, jobName, Link, Meter, Shown, StateBadge } from '../parts'
import { may, useStore } from '../store'
import { ms, relativeText } from '../time'
import type { Tenant } from '../types'

const WAITING = new Set(['PENDING', 'ADMITTED', 'SUSPENDED'])

function Edit(props: { tenant?: Tenant; onClose: () => void }) {
  const [name, setName] = useState(props.tenant?.name ?? '')
  const [guarantee, setGuarantee] = useState(String(props.tenant?.guarantee ?? 0))
  const [borrow, setBorrow] = useState(String(props.tenant?.borrow ?? ''))
  const [budget, setBudget] = useState(String(props.tenant?.budget_gpu_hours ?? 0))
  const [error, setError] = useState<Error>()
  const submit = async (event: Event) => {
    event.preventDefault()
    try {
      await send('PUT', `/v1/tenants/${encodeURIComponent(name)}`, { guarantee: Number(guarantee), budget_gpu_hours: Number(budget), ...(borrow.trim() && { borrow: Number(borrow) }) })
      props.onClose()
    } catch (failure) { setError(failure as Error) }
  }
  const input = (label: string, value: string, set: (value: string) => void, hint?: string) => (
    <Field label={label} hint={hint}>{(id, described) => <input id={id} inputMode="decimal" value={value} aria-describedby={described} onInput={(event) => set(event.currentTarget.value)} />}</Field>
  )
  return (
    <Dialog title={props.tenant ? `Tenant ${props.tenant.name}` : 'New tenant'} onClose={props.onClose}>
      <form class="stacked" onSubmit={submit}>
        <div class="fields">
          {!props.tenant && <Field label="Name">{(id) => <input id={id} value={name} onInput={(event) => setName(event.currentTarget.value)} />}</Field>}
          {input('Guarantee', guarantee, setGuarantee, 'GPUs it can always have')}
          {input('Borrow', borrow, setBorrow, 'GPUs beyond that, while idle; empty: any')}
          {input('Budget', budget, setBudget, 'GPU-hours; 0: none')}
        </div>
        {error && <Failure error={error} />}
        <footer class="dialog-foot"><button type="button" onClick={props.onClose}>Close</button><button class="primary" disabled={!name.trim()}>Save</button></footer>
      </form>
    </Dialog>
  )
}

export function Tenants() {
  const store = useStore()
  const tenants = useLoad<{ tenants: Tenant[] }>('/v1/tenants', { every: 10_000, on: (event) => event.type.startsWith('job.'), pause: 1500 })
  const [edited, setEdited] = useState<Tenant | 'new'>()
  const waiting = useMemo(() => store.active().filter((job) => WAITING.has(job.state)).sort((a, b) => Number(a.id) - Number(b.id)), [store.revision])
  return (
    <div class="page">
      <div class="page-head"><h1>Tenants and queues</h1>{may('admin') && <button class="primary" onClick={() => setEdited('new')}>New tenant</button>}</div>
      <Card title="Tenants">
        <Shown of={tenants}>
          {(data) => data.tenants.length === 0 ? <Empty title="No tenants yet">They appear with their first job, or when an admin makes them.</Empty> : (
            <div class="scroll-box" tabIndex={0} role="region" aria-label="Tenants">
              <table>
                <thead><tr><th scope="col">Tenant</th><th scope="col">GPUs now</th><th scope="col">Guaranteed</th><th scope="col">May borrow</th><th scope="col">Jobs</th><th scope="col">GPU-hours used</th>{may('admin') && <th scope="col"><span class="sr-only">Edit</span></th>}</tr></thead>
                <tbody>{data.tenants.map((tenant) => (
                  <tr key={tenant.name}>
                    <td class="strong">{tenant.name || <span class="muted">without a tenant</span>}</td><td>{tenant.gpus_now}</td><td>{tenant.guarantee || '–'}</td><td>{tenant.borrow ?? 'any'}</td><td>{tenant.jobs}</td>
                    <td><div class="progress-cell">{tenant.budget_gpu_hours > 0 && <Meter value={tenant.used_gpu_hours} max={tenant.budget_gpu_hours} label={`Budget of ${tenant.name} used`} tone={tenant.used_gpu_hours >= tenant.budget_gpu_hours ? 'bad' : ''} />}<span class="small">{decimals(tenant.used_gpu_hours, 2)}{tenant.budget_gpu_hours > 0 && ` of ${decimals(tenant.budget_gpu_hours, 1)}`}</span></div></td>
                    {may('admin') && <td>{tenant.name && <button onClick={() => setEdited(tenant)} aria-label={`Edit ${tenant.name}`}>Edit</button>}</td>}
                  </tr>
                ))}</tbody>
              </table>
            </div>
          )}
        </Shown>
      </Card>
      <Card title="Queue" note="jobs without workers, in the order they came">
        {waiting.length === 0 ? <Empty title="Nobody waits" /> : (
          <div class="scroll-box" tabIndex={0} role="region" aria-label="Queue">
            <table>
              <thead><tr><th scope="col">Job</th><th scope="col">Tenant</th><th scope="col">State</th><th scope="col">Since</th><th scope="col">Reason</th></tr></thead>
              <tbody>{waiting.slice(0, 300).map((job) => (
                <tr key={job.id}><td><Link to={`/jobs/${job.id}`}>{jobName(job)}</Link></td><td>{job.spec.tenant || '–'}</td><td><StateBadge state={job.state} /></td><td>{relativeText(ms(job.submitted))}</td><td class="muted">{job.message || job.reason}</td></tr>
              ))}</tbody>
            </table>
          </div>
        )}
      </Card>
      {edited && <Edit tenant={edited === 'new' ? undefined : edited} onClose={() => { setEdited(undefined); tenants.reload() }} />}
    </div>
  )
}
