// Who held which GPU when, under one policy.
import type { ComponentChildren } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { linearTicks, secondsText, timeTexts } from '../axes'
import { outcomePaint, type Outcome } from '../colors'
import { Gantt, type GanttBar, type GanttLine, type GanttRow, type GanttTime, type View } from '../gantt'
import { viewWithin } from '../gantt_draw'
import { counted } from '../numbers'
import { Card, Choice, Empty } from '../parts'
import { useDark } from '../theme'
import { CLASSES, heldOf, outcomeOf, type Held, type Pictures, type Run } from './data'
import { JobTable } from './jobs'

const HEIGHT = 540
const LABEL_ROOM = 17
const OUTCOMES: [Outcome, string][] = [['met', 'deadline met'], ['missed', 'deadline missed'], ['free', 'no deadline']]

const ELAPSED: GanttTime = {
  ticks: (from, to, count) => {
    const all = linearTicks(from, to, count, true)
    return timeTexts(all).map((label, i) => ({ at: all[i], label }))
  },
  text: secondsText,
}

/** Rows that fill the height if they fit into it, and their gap. */
export function nodeRows(nodes: Pictures['nodes'], isTall: boolean): { rows: GanttRow[]; gap: number } {
  const room = (HEIGHT - 30) / Math.max(1, nodes.length)
  const gap = isTall || room >= 16 ? 5 : room >= 6 ? 2 : room >= 3 ? 1 : 0
  const every = isTall ? 1 : Math.ceil(LABEL_ROOM / Math.max(1, room))
  const rows = nodes.map(([name, , gpus], i): GanttRow => {
    const tall = Math.max(24, Math.min(16 * gpus, 160))
    return { key: String(i), lanes: gpus, height: isTall ? tall : Math.max(1, Math.min(room - gap, tall)), label: i % every === 0 ? <span class="job-label" title={name}>{name}</span> : null }
  })
  return { rows, gap }
}

/** From GPUs counted over the whole cluster to rows and lanes; of nodes left out nothing is shown. */
export function barsOf(data: Pictures, held: Held[]): GanttBar[] {
  const starts = data.nodes.map(([, first]) => first)
  const rowOf = (gpu: number) => {
    let [low, high] = [0, starts.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (starts[middle] <= gpu) low = middle + 1
      else high = middle
    }
    return low - 1
  }
  return held.flatMap((each): GanttBar[] => {
    let row = Math.max(0, rowOf(each.first))
    let lane = Math.max(0, each.first - starts[row])
    if (lane >= data.nodes[row][2]) [row, lane] = [row + 1, 0]
    const last = rowOf(each.first + each.count - 1)
    if (last < row || row >= starts.length) return []
    const end = Math.min(each.first + each.count - starts[last], data.nodes[last][2])
    return [{
      row, lane, lanes: end - lane, from: each.from * data.tick, to: each.to * data.tick, job: String(each.job),
      text: data.jobs.name[each.job] ?? '', isFuture: false, ...(last > row && { until: { row: last, lane: end } }),
    }]
  })
}

/** The first job of this name, or else the first whose name has it in it; -1 if there is none. */
export function findJob(names: string[], text: string): number {
  const wanted = text.trim().toLowerCase()
  if (!wanted) return -1
  const exact = names.findIndex((name) => name.toLowerCase() === wanted)
  return exact >= 0 ? exact : names.findIndex((name) => name.toLowerCase().includes(wanted))
}

function factsOf(data: Pictures, run: Run, job: number): [string, string][] {
  if (job >= data.jobs.name.length) return []
  const moment = (ticks: number) => (ticks < 0 ? 'never' : secondsText(ticks * data.tick))
  const facts: [string, string][] = [['class', CLASSES[data.jobs.class[job]]], ['arrival', moment(data.jobs.arrival[job])]]
  if (data.jobs.deadline[job] >= 0) facts.push(['deadline', moment(data.jobs.deadline[job])])
  if (run.promised[job] >= 0) facts.push(['promised', moment(run.promised[job])])
  facts.push(['finish', moment(run.finish[job])])
  if (run.resizes[job]) facts.push(['resizes', String(run.resizes[job])])
  return facts
}

function Tip(props: { data: Pictures; run: Run; held: Held[]; bar: GanttBar; at: number }) {
  const { data, run, bar } = props
  const job = Number(bar.job)
  const tick = props.at / data.tick
  const workers = props.held.reduce((sum, each) => (each.job === job && each.from <= tick && tick < each.to ? sum + each.count : sum), 0)
  const facts: [string, string][] = [['workers', String(workers || bar.lanes)], ['held', `${secondsText(bar.from)} to ${secondsText(bar.to)}`], ...factsOf(data, run, job)]
  return <><strong>{bar.text || 'a job'}</strong>{facts.map(([name, value]) => <div key={name} class="tip-row"><span>{name}</span><b>{value}</b></div>)}</>
}

export function Gpus(props: { data: Pictures; run: Run; chooser: ComponentChildren }) {
  const { data, run } = props
  const dark = useDark()
  const whole: View = { from: 0, to: Math.max(data.span, 1) * data.tick }
  const [view, setView] = useState(whole)
  const [job, setJob] = useState(-1)
  const [text, setText] = useState('')
  const [isTall, setTall] = useState(false)
  const [by, setBy] = useState<'outcome' | 'job'>('outcome')
  const held = useMemo(() => heldOf(run), [run])
  const bars = useMemo(() => barsOf(data, held), [data, held])
  const { rows, gap } = useMemo(() => nodeRows(data.nodes, isTall), [data, isTall])
  const paint = useMemo(() => (by === 'job' ? undefined : (bar: GanttBar) => outcomePaint(outcomeOf(data, run, Number(bar.job)), Number(bar.job), dark)), [data, run, by, dark])
  const lines = useMemo((): GanttLine[] => (data.jobs.deadline[job] >= 0 ? [{ at: data.jobs.deadline[job] * data.tick, label: 'deadline', tone: 'ink' }] : []), [data, job])
  const single = (next: number) => setJob(next === job ? -1 : next)
  const find = (wanted: string) => {
    setText(wanted)
    const found = findJob(data.jobs.name, wanted)
    setJob(found)
    if (found < 0) { setView(whole); return }
    // Its life with some room on both sides.
    const [from, to] = [data.jobs.arrival[found], Math.max(run.finish[found], data.jobs.deadline[found], data.jobs.arrival[found])]
    const room = (to - from) * 0.25 + 1
    setView(viewWithin({ from: (from - room) * data.tick, to: (to + room) * data.tick }, whole))
  }
  const zoom = (factor: number) => {
    const half = Math.max((view.to - view.from) * factor, whole.to / 2000) / 2
    const middle = (view.from + view.to) / 2
    setView(viewWithin({ from: middle - half, to: middle + half }, whole))
  }
  return (
    <Card title="Who held which GPU" actions={(
      <div class="actions wrap">
        {props.chooser}
        <label class="inline-label"><span>Find job</span><input type="search" value={text} placeholder="name" autocomplete="off" onInput={(event) => find(event.currentTarget.value)} /></label>
        <Choice label="Colours" value={by} options={[['outcome', 'By outcome'], ['job', 'By job']]} onChange={setBy} />
        <Choice label="Rows" value={isTall ? 'tall' : 'fit'} options={[['fit', 'All nodes'], ['tall', 'Large']]} onChange={(rowsAs) => setTall(rowsAs === 'tall')} />
        <span class="zoom" role="group" aria-label="Zoom"><button type="button" aria-label="Zoom in" onClick={() => zoom(0.6)}>+</button><button type="button" aria-label="Zoom out" onClick={() => zoom(1 / 0.6)}>−</button><button type="button" onClick={() => setView(whole)}>All</button></span>
      </div>
    )}>
      {bars.length === 0 ? <Empty title="The run kept no record of who held which GPU" /> : (
        <>
          {by === 'outcome' && <ul class="legend inline">{OUTCOMES.map(([outcome, words]) => <li key={outcome}><i class="swatch" style={{ background: outcomePaint(outcome, 1, dark).fill }} aria-hidden="true" />{words}</li>)}</ul>}
          <Gantt
            label={`${run.policy}: ${counted(held.length, 'bar')} on ${counted(data.gpus, 'GPU')}`} rows={rows} bars={bars} view={view} limits={whole} lines={lines} gap={gap} heightMax={HEIGHT}
            focus={job < 0 ? undefined : String(job)} paint={paint} time={ELAPSED} onView={setView} onPick={(picked) => single(Number(picked))}
            tip={(bar, at) => <Tip data={data} run={run} held={held} bar={bar} at={at} />}
          />
          <p class="muted small" role="status">
            {job >= 0 && <><strong>{data.jobs.name[job] ?? 'A job'}</strong>{factsOf(data, run, job).map(([name, value]) => `, ${name} ${value}`)}. <button class="quiet" type="button" onClick={() => find('')}>Show all jobs</button> </>}
            {text && job < 0 && 'No job has that name. '}
          </p>
          <p class="muted small">
            One line per GPU, {data.gpus} in all. Click a bar to single out its job. Drag to move; Ctrl and wheel, pinch or double-click to zoom; arrow keys, +, − and 0 work too.
            {run.left_out > 0 && ` The ${counted(run.left_out, 'smallest bar')} ${run.left_out === 1 ? 'is' : 'are'} left out.`}
          </p>
          <JobTable data={data} run={run} />
        </>
      )}
    </Card>
  )
}
