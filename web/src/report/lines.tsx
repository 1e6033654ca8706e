// Distributions, and use and deadlines over time: one line for each policy.
import { useMemo } from 'preact/hooks'
import { elapsedAxis, logTimeAxis, logTimesAxis, secondsText, shareAxis, shareText, timesText } from '../axes'
import { Chart, type ChartPoint, type Line } from '../chart'
import { Card, Empty } from '../parts'
import { lastNotAbove, shareAt, type Pictures, type Run } from './data'
import { dashOf, Numbers, TipRows, toneOf } from './series'

const HEIGHT = 260
const SHARES = [0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1]
const PARTS = [0.1, 0.25, 0.5, 0.75, 1]

const lineOf = (run: Run, values: (number | null)[], steps = false): Line => ({ label: run.policy, values, tone: toneOf(run.row), dash: dashOf(run.row), steps })

function Distribution(props: { data: Pictures; shown: Run[]; of: 'jct' | 'slowdown'; title: string; note: string; isTime: boolean }) {
  const { data, shown, of, isTime } = props
  const text = isTime ? secondsText : timesText
  const ends = useMemo(() => {
    let [low, high] = [Infinity, 0]
    for (const run of data.runs) for (const value of run[of][0]) if (value > 0) [low, high] = [Math.min(low, value), Math.max(high, value)]
    return [low / 1.1, high * 1.1]
  }, [data, of])
  const axis = useMemo(() => (isTime ? logTimeAxis : logTimesAxis)(ends[0], ends[1]), [ends, isTime])
  const { xs, lines } = useMemo(() => {
    const all = new Set(ends)
    for (const run of shown) for (const value of run[of][0]) if (value > 0) all.add(value)
    const sorted = [...all].sort((a, b) => a - b)
    return { xs: sorted, lines: shown.filter((run) => run[of][0].length > 0).map((run) => lineOf(run, sorted.map((x) => shareAt(run[of], x)), true)) }
  }, [shown, ends, of])
  const at = (run: Run, share: number) => {
    const index = run[of][1].findIndex((each) => each >= share - 5e-4)
    return index < 0 ? '–' : text(run[of][0][index])
  }
  return (
    <Card title={props.title}>
      <p class="muted small">{props.note}</p>
      {ends[1] === 0 ? <Empty title="No job finished" /> : (
        <>
          <Chart
            label={`${props.title}, cumulative distribution`} times={xs} lines={lines} height={HEIGHT} x={axis} y={shareAxis} hasLegend={false}
            tip={({ x }: ChartPoint) => <TipRows title={`within ${text(x)}`} rows={shown.map((run) => ({ row: run.row, policy: run.policy, value: shareAt(run[of], x), text: shareText(shareAt(run[of], x)) }))} />}
          />
          <Numbers label={props.title} head={['Policy', ...SHARES.map(shareText)]} rows={data.runs.map((run) => ({ key: run.row, cells: [run.policy, ...SHARES.map((share) => at(run, share))] }))} />
        </>
      )}
    </Card>
  )
}

interface Binned { count: (run: Run) => number; value: (run: Run, bin: number) => number | null; text: (run: Run, bin: number, value: number) => string }
const USED: Binned = { count: (run) => run.used.length, value: (run, bin) => run.used[bin] / 1000, text: (_, __, share) => shareText(share) }
const MET: Binned = {
  count: (run) => run.met.length, value: (run, bin) => (run.due[bin] ? run.met[bin] / run.due[bin] : null),
  text: (run, bin, share) => `${shareText(share)} (${run.met[bin]} of ${run.due[bin]})`,
}

function OverTime(props: { data: Pictures; shown: Run[]; of: Binned; title: string; note: string; empty?: string }) {
  const { data, shown, of } = props
  const span = data.span * data.tick
  const bins = Math.max(1, ...data.runs.map(of.count))
  const { xs, lines } = useMemo(() => {
    const ends = Array.from({ length: bins }, (_, bin) => ((bin + 1) * span) / bins)
    return { xs: ends, lines: shown.map((run) => lineOf(run, ends.map((_, bin) => (bin < of.count(run) ? of.value(run, bin) : null)))) }
  }, [shown, bins, span, of])
  const axis = useMemo(() => elapsedAxis(0, span), [span])
  const valueAt = (run: Run, bin: number) => (bin < of.count(run) ? of.value(run, bin) : null)
  return (
    <Card title={props.title}>
      <p class="muted small">{props.note}</p>
      {props.empty ? <Empty title={props.empty} /> : (
        <>
          <Chart
            label={`${props.title} over time`} times={xs} lines={lines} height={HEIGHT} x={axis} y={shareAxis} hasLegend={false}
            tip={({ x }: ChartPoint) => {
              const bin = Math.min(bins - 1, lastNotAbove(xs, x) + 1)
              return <TipRows title={`after ${secondsText(x)}`} rows={shown.map((run) => {
                const value = valueAt(run, bin)
                return { row: run.row, policy: run.policy, value, text: value === null ? '–' : of.text(run, bin, value) }
              })} />
            }}
          />
          <Numbers label={props.title} head={['After', ...PARTS.map((part) => secondsText(part * span))]} rows={data.runs.map((run) => ({
            key: run.row, cells: [run.policy, ...PARTS.map((part) => {
              const value = valueAt(run, Math.max(0, Math.round(part * bins) - 1))
              return value === null ? '–' : shareText(value)
            })],
          }))} />
        </>
      )}
    </Card>
  )
}

export function Lines(props: { data: Pictures; shown: Run[] }) {
  const { data, shown } = props
  const hasDeadlines = data.runs.some((run) => run.due[run.due.length - 1] > 0)
  return (
    <div class="grid two even">
      <Distribution data={data} shown={shown} of="jct" title="Job completion time" note="Share of finished jobs done within a time; further left is better." isTime />
      <Distribution data={data} shown={shown} of="slowdown" title="Slowdown" note="Completion time over run time alone on the empty cluster, finished jobs." isTime={false} />
      <OverTime data={data} shown={shown} of={USED} title="GPUs in use" note="Share of the available GPUs held by jobs, over time." />
      <OverTime data={data} shown={shown} of={MET} title="Deadlines met" note="Of all deadlines that have come so far, the share that was met." empty={hasDeadlines ? undefined : 'No job has a deadline'} />
    </div>
  )
}
