// Promised against actual finish: the slack of each promise over time, and how it is spread.
import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { countAxis, elapsedAxis, niceStep, secondsText, timeTexts, type Axis } from '../axes'
import { Chart, type ChartPoint, type Line } from '../chart'
import { Card, Empty } from '../parts'
import { isKept, promisesOf, type Pictures, type PromiseKept, type Run } from './data'

const NEAR = 12 // Pixels.
type Done = PromiseKept & { slack: number }

/** How many slacks fall into each step of a round length; the step before zero is the last late one. */
export function histogram(slacks: number[]): { step: number; from: number[]; counts: number[] } {
  const [low, high] = slacks.reduce(([a, b], slack) => [Math.min(a, slack), Math.max(b, slack)], [0, 0])
  const step = niceStep(high - low || 1, 24, true)
  const first = Math.floor(low / step)
  const counts: number[] = new Array(Math.floor(high / step) - first + 1).fill(0)
  for (const slack of slacks) counts[Math.floor(slack / step) - first]++
  return { step, counts, from: counts.map((_, i) => (first + i) * step) }
}

function Slacks(props: { data: Pictures; run: Run; done: Done[] }) {
  const { data, run, done } = props
  const made = useMemo(() => {
    const sorted = [...done].sort((a, b) => a.promised - b.promised)
    const [low, high] = sorted.reduce(([a, b], { slack }) => [Math.min(a, slack), Math.max(b, slack)], [0, 0])
    const room = (high - low || 1) * 0.06
    const short = (ticks: number[]) => timeTexts(ticks).map((text) => text.replace(' min', 'm').replace(' ', ''))
    const y: Axis = { ...elapsedAxis(low - room, high + room), texts: short }
    const x = elapsedAxis(0, sorted.reduce((a, each) => Math.max(a, each.promised), data.span * data.tick) * 1.01)
    const pick = (kept: boolean) => sorted.map((each) => (isKept(each) === kept ? each.slack : null))
    // Broken ones last, so that none hides below a kept one.
    const lines: Line[] = [{ label: 'on time', values: sorted.map(() => 0), tone: 'muted', dash: true }, { label: 'kept', values: pick(true), tone: 'kept', look: 'dots' }, { label: 'broken', values: pick(false), tone: 'broken', look: 'triangles' }]
    return { sorted, x, y, lines, times: sorted.map((each) => each.promised) }
  }, [data, done])
  const tip = ({ left, top, plot }: ChartPoint) => {
    let [best, nearest] = [NEAR ** 2, undefined as Done | undefined]
    for (const each of made.sorted) {
      const far = (plot.valToPos(each.promised, 'x') - left) ** 2 + (plot.valToPos(each.slack, 'y') - top) ** 2
      if (far < best) [best, nearest] = [far, each]
    }
    return nearest && (
      <>
        <strong>{data.jobs.name[nearest.job]}</strong>
        <div class="tip-row"><span>promised</span><b>{secondsText(nearest.promised)}</b></div>
        <div class="tip-row"><span>finished</span><b>{secondsText(run.finish[nearest.job] * data.tick)}</b></div>
        <div class="tip-row"><span>{nearest.slack < 0 ? 'late by' : 'early by'}</span><b>{secondsText(Math.abs(nearest.slack))}</b></div>
      </>
    )
  }
  return <Chart label={`Slack of ${done.length} promises over time`} times={made.times} lines={made.lines} height={280} x={made.x} y={made.y} hasLegend={false} tip={tip} />
}

function Spread(props: { slacks: number[] }) {
  const { step, from, counts, x, y, lines } = useMemo(() => {
    const all = histogram(props.slacks)
    const pick = (late: boolean) => all.counts.map((count, i) => ((all.from[i] < 0) === late && count > 0 ? count : null))
    const made: Line[] = [{ label: 'early', values: pick(false), tone: 'kept', look: 'columns' }, { label: 'late', values: pick(true), tone: 'broken', look: 'columns' }]
    return { ...all, lines: made, x: elapsedAxis(all.from[0], all.from[0] + all.step * all.counts.length), y: countAxis(Math.max(...all.counts) * 1.05) }
  }, [props.slacks])
  const tip = ({ x: at }: ChartPoint) => {
    const bin = Math.floor((at - from[0]) / step)
    return counts[bin] > 0 && <><strong>{from[bin] < 0 ? `${secondsText(-from[bin] - step)} to ${secondsText(-from[bin])} late` : `${secondsText(from[bin])} to ${secondsText(from[bin] + step)} early`}</strong><div>{counts[bin]} {counts[bin] === 1 ? 'job' : 'jobs'}</div></>
  }
  return <Chart label="Jobs by slack" times={from} lines={lines} height={280} x={x} y={y} hasLegend={false} tip={tip} />
}

export function Promises(props: { data: Pictures; run: Run; chooser: ComponentChildren }) {
  const { data, run } = props
  const all = useMemo(() => promisesOf(data, run), [data, run])
  const done = useMemo(() => all.filter((each): each is Done => each.slack !== null), [all])
  const slacks = useMemo(() => done.map((each) => each.slack), [done])
  const kept = all.filter(isKept).length
  return (
    <Card title="Promised and actual finish" actions={props.chooser}>
      <p class="muted small">
        {all.length === 0 ? 'This policy makes no promises.' : <><strong data-testid="promises">{kept} of {all.length} promises kept.</strong> Slack is how long before the promised moment a job finished; below zero (triangles) it was late.</>}
      </p>
      {done.length === 0 ? <Empty title="Nothing to show" /> : (
        <div class="grid two">
          <div><h3>Slack over time</h3><Slacks data={data} run={run} done={done} /></div>
          <div><h3>Jobs by slack</h3><Spread slacks={slacks} /></div>
        </div>
      )}
    </Card>
  )
}
