// What a job's program tells of itself: a small chart for each metric, and other jobs beside it.
import { useMemo, useState } from 'preact/hooks'
import { Chart, type ChartPoint } from '../chart'
import { kept } from '../kept'
import { useLoad } from '../load'
import { candidates, COMPARED_MAX, metricRows, numberOf, overlay, shortNumber, stepAxis, valueAxis, valueSpan, type Comparison, type Curve, type JobMetrics, type MetricLine } from '../metric_data'
import { countText } from '../numbers'
import { Card, Empty, jobName } from '../parts'
import { useStore } from '../store'
import { OVER, type JobStatus } from '../types'

const CHARTS_FIRST = 8
const POINTS = 300
const EVERY_MS = 5000

const jobLabel = (job: { id: string; name: string }) => (job.name ? `${job.name} #${job.id}` : `job ${job.id}`)

function MetricChart(props: { job: JobStatus; line: MetricLine; others: string[]; isActive: boolean }) {
  const { job, line, others } = props
  const asked = others.length > 0 ? `/v1/metrics?jobs=${[job.id, ...others].join(',')}&name=${encodeURIComponent(line.name)}&points=${POINTS}` : undefined
  const compared = useLoad<Comparison>(asked, { every: props.isActive ? EVERY_MS : undefined })
  const data = useMemo(() => {
    const own = { label: jobLabel({ id: job.id, name: jobName(job) }), curve: line as Curve }
    const rest = (compared.data?.jobs ?? []).filter((each) => each.job !== job.id)
      .map((each) => ({ label: jobLabel({ id: each.job, name: each.name }), curve: each as Curve }))
    return overlay([own, ...rest])
  }, [line, compared.data, job.id])
  const span = valueSpan(data.lines)
  const last = numberOf(line.values[line.values.length - 1])
  const tip = ({ x }: ChartPoint) => {
    const nearest = data.steps.reduce((best, step, i) => (Math.abs(step - x) < Math.abs(data.steps[best] - x) ? i : best), 0)
    return (
      <>
        <strong>step {countText(data.steps[nearest])}</strong>
        {data.lines.map((each, i) => each.values[nearest] !== null && <div key={i}>{data.lines.length > 1 && `${each.label}: `}{shortNumber(each.values[nearest]!)}</div>)}
      </>
    )
  }
  return (
    <figure class="metric" data-metric={line.name}>
      <figcaption><span class="metric-name" title={line.name}>{line.name}</span><b>{last === null ? 'not a number' : shortNumber(last)}</b></figcaption>
      {span
        ? <Chart label={`${line.name} by step${others.length > 0 ? `, of ${data.lines.length} jobs` : ''}`} times={data.steps} lines={data.lines} height={150} x={stepAxis(data.steps)} y={valueAxis(span)} hasLegend={data.lines.length > 1} tip={tip} />
        : <Empty title="Not a number so far" />}
      {compared.error && <p class="muted small" role="alert">{compared.error.message}</p>}
    </figure>
  )
}

function Compare(props: { job: JobStatus; others: string[]; onChange: (others: string[]) => void }) {
  const store = useStore()
  const { job, others, onChange } = props
  const choice = candidates(store.jobs.values(), job, others)
  const nameOf = (id: string) => jobLabel({ id, name: store.jobs.has(id) ? jobName(store.jobs.get(id)!) : '' })
  return (
    <div class="compare">
      {others.map((id) => <button key={id} class="chip" aria-label={`Do not compare with ${nameOf(id)}`} onClick={() => onChange(others.filter((each) => each !== id))}>{nameOf(id)} ×</button>)}
      {others.length < COMPARED_MAX && choice.length > 0 && (
        <label class="inline-label"><span>Compare with</span>
          <select value="" onChange={(event) => onChange([...others, event.currentTarget.value])}>
            <option value="">a job …</option>
            {choice.map((each) => <option key={each.id} value={each.id}>{jobLabel({ id: each.id, name: jobName(each) })}</option>)}
          </select>
        </label>
      )}
    </div>
  )
}

function Table(props: { lines: MetricLine[] }) {
  return (
    <details>
      <summary>The same as a table</summary>
      <div class="scroll-box" tabIndex={0} role="region" aria-label="Metrics as a table">
        <table>
          <thead><tr><th scope="col">Metric</th><th scope="col">Last</th><th scope="col">At step</th><th scope="col">Lowest</th><th scope="col">Highest</th></tr></thead>
          <tbody>{metricRows(props.lines).map((row) => <tr key={row.name}><th scope="row">{row.name}</th><td>{row.last}</td><td>{row.step}</td><td>{row.low}</td><td>{row.high}</td></tr>)}</tbody>
        </table>
      </div>
    </details>
  )
}

export function Metrics(props: { job: JobStatus }) {
  const { job } = props
  const isActive = !OVER.has(job.state)
  const [others, setOthers] = useState<string[]>([])
  const [showsAll, setShowsAll] = useState(false)
  const metrics = useLoad<JobMetrics>(`/v1/jobs/${encodeURIComponent(job.id)}/metrics?points=${POINTS}`, { every: isActive ? EVERY_MS : undefined, on: (event) => event.job === job.id })
  const lines = metrics.data?.lines.filter((line) => line.steps.length > 0) ?? []
  if (job.spec.kind === 'emulated' || (!metrics.data && (kept || !metrics.error))) return null
  const shown = showsAll ? lines : lines.slice(0, CHARTS_FIRST)
  return (
    <Card title="Metrics" class="metrics" note={job.spec.until ? `ends early when ${job.spec.until}` : undefined} actions={!kept && lines.length > 0 && <Compare job={job} others={others} onChange={setOthers} />}>
      {lines.length === 0 ? (
        <Empty title={metrics.error ? 'They cannot be shown' : 'None so far'}>{metrics.error ? metrics.error.message : <>What the program prints (<code>loss: 0.3</code>) or gives to <code>rubato.log(loss=0.3)</code> appears here.</>}</Empty>
      ) : (
        <>
          <div class="metric-grid">{shown.map((line) => <MetricChart key={line.name} job={job} line={line} others={others} isActive={isActive} />)}</div>
          {lines.length > shown.length && <button class="quiet" onClick={() => setShowsAll(true)}>Show all {lines.length}</button>}
          <Table lines={lines} />
        </>
      )}
    </Card>
  )
}
