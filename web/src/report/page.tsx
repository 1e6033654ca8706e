// A simulated run, or a tournament of policies, as one page.
import { useMemo, useState } from 'preact/hooks'
import { Card, Logo } from '../parts'
import { toggleTheme, useDark } from '../theme'
import { aimOf, columnName, OneAim, TwoAims } from './aims'
import { type Comparison, type Pictures, type ReportData } from './data'
import { Gpus } from './gpus'
import { Lines } from './lines'
import { Promises } from './promises'
import { Legend } from './series'
import { ComparisonTable } from './table'

const LINES_OPEN = 12 // More lines on provenance are folded away.

function Head(props: { data: ReportData }) {
  const { data } = props
  const dark = useDark()
  const lines = data.provenance.map((line, i) => <p key={i} class="muted small provenance">{line}</p>)
  return (
    <header class="report-head">
      <div class="page-head">
        <div><p class="brand"><Logo size={26} /><span>Rubato</span></p><h1>{data.title}</h1></div>
        <button class="icon-button" type="button" onClick={toggleTheme} aria-label={dark ? 'Use light colours' : 'Use dark colours'}>{dark ? '☀' : '☾'}</button>
      </div>
      <dl class="report-facts">{data.facts.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
      {data.command && <pre class="log small-log" tabIndex={0} role="region" aria-label="Command"><code>{data.command}</code></pre>}
      {lines.length > LINES_OPEN ? <details><summary>Where speeds and work come from</summary>{lines}</details> : <div>{lines}</div>}
    </header>
  )
}

function Choose(props: { runs: Pictures['runs']; value: number; onChange: (index: number) => void }) {
  return (
    <label class="inline-label"><span>Policy</span>
      <select value={props.value} onChange={(event) => props.onChange(Number(event.currentTarget.value))}>{props.runs.map((run, i) => <option key={i} value={i}>{run.policy}</option>)}</select>
    </label>
  )
}

function Charts(props: { data: Pictures }) {
  const { data } = props
  const [hidden, setHidden] = useState(new Set<number>())
  const promising = useMemo(() => data.runs.findIndex((run) => run.promised.some((at) => at >= 0)), [data])
  const [chosen, setChosen] = useState(Math.max(0, promising))
  const shown = useMemo(() => data.runs.filter((run) => !hidden.has(run.row)), [data, hidden])
  const run = data.runs[chosen]
  const chooser = () => <Choose runs={data.runs} value={chosen} onChange={setChosen} />
  return (
    <>
      <Legend runs={data.runs} hidden={hidden} onChange={setHidden} />
      <Lines data={data} shown={shown} />
      {promising >= 0 && <Promises data={data} run={run} chooser={chooser()} />}
      <Gpus data={data} run={run} chooser={chooser()} />
    </>
  )
}

const TIMES_NOTE = 'Times are those of finished jobs; percentiles are by nearest rank. Point at a heading for its meaning, press it to sort.'

function Compared(props: { data: ReportData }) {
  const { comparison, pictures } = props.data
  return (
    <>
      <Card title="Comparison">
        <p class="muted small">{TIMES_NOTE}{comparison.seeds > 1 && ` Means of ${comparison.seeds} seeds ± 95% confidence; the charts show the first seed.`}</p>
        <ComparisonTable comparison={comparison} groups={comparison.groups} label="Comparison table" hasSwatches={!!pictures} />
      </Card>
      {pictures && <Charts data={pictures} />}
    </>
  )
}

function notesOf(comparison: Comparison): string {
  let note = `Best of each column in colour. Times are those of finished jobs; a policy that finished less than ${100 * comparison.comparable_share}% of the jobs another did is shown in grey and its times are not compared. `
    + 'Place is the mean rank by deadlines met, mean and p99 JCT, makespan, efficiency, fairness and value. Point at a heading for its meaning, press it to sort.'
  if (comparison.seeds > 1) note += ` Means of ${comparison.seeds} seeds ± 95% confidence.`
  if (comparison.groups.some((group) => group.relative)) note += ' Over all traces, times, rho and the sum of values are geometric means of ratios to the best policy of each trace (x); the rest are plain means; ± is over traces.'
  return note
}

function Tournament(props: { comparison: Comparison }) {
  const { comparison } = props
  // The last one is over all, if there are several.
  const traces = [...new Set(comparison.groups.map((group) => group.trace))].reverse()
  const [trace, setTrace] = useState(traces[0])
  const [aim, setAim] = useState(() => aimOf(comparison.columns))
  const groups = useMemo(() => comparison.groups.filter((group) => group.trace === trace), [comparison, trace])
  return (
    <>
      <Card title="Standings" actions={traces.length > 1 && (
        <label class="inline-label"><span>Trace</span><select value={trace} onChange={(event) => setTrace(event.currentTarget.value)}>{traces.map((each) => <option key={each} value={each}>{each}</option>)}</select></label>
      )}>
        <p class="muted small">{notesOf(comparison)}</p>
        <ComparisonTable comparison={comparison} groups={groups} label="Standings table" />
      </Card>
      {groups.length > 0 && (
        <div class="grid two even tops">
          <Card title="Two aims at once"><TwoAims comparison={comparison} group={groups[0]} /></Card>
          <Card title="One aim" actions={(
            <label class="inline-label"><span>Show</span><select value={aim} onChange={(event) => setAim(Number(event.currentTarget.value))}>{comparison.columns.map((column, i) => <option key={i} value={i}>{columnName(column)}</option>)}</select></label>
          )}>
            <OneAim column={comparison.columns[aim]} index={aim} groups={groups} />
          </Card>
        </div>
      )}
    </>
  )
}

export function Report(props: { data: ReportData }) {
  const { data } = props
  return (
    <main class="page report">
      <Head data={data} />
      {data.kind === 'tournament' ? <Tournament comparison={data.comparison} /> : <Compared data={data} />}
    </main>
  )
}

