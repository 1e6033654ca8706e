// One policy, one line: its colour, its dashes, and the buttons that show and hide it.
import type { Run } from './data'

const COLORS = 8

export const toneOf = (row: number) => `s${row % COLORS}`
/** Policies whose colours are close, or the same, differ in dashes. */
export function dashOf(row: number): number[] | undefined {
  if (row < 4) return undefined
  if (row < COLORS) return row < 6 ? [7, 3] : [3, 3]
  return [[1, 3], [12, 3], [9, 3, 2, 3]][(Math.floor(row / COLORS) - 1) % 3]
}

export function Legend(props: { runs: Run[]; hidden: Set<number>; onChange: (hidden: Set<number>) => void }) {
  const { runs, hidden, onChange } = props
  const toggle = (row: number) => {
    const next = new Set(hidden)
    if (!next.delete(row)) next.add(row)
    onChange(next)
  }
  return (
    <div class="series" role="group" aria-label="Policies shown in the charts">
      {runs.map((run) => (
        <button key={run.row} type="button" aria-pressed={!hidden.has(run.row)} title={`Show or hide ${run.policy}`} onClick={() => toggle(run.row)}>
          <svg viewBox="0 0 22 10" width="22" height="10" aria-hidden="true"><line x1="0" x2="22" y1="5" y2="5" stroke={`var(--${toneOf(run.row)})`} stroke-width="3" stroke-dasharray={dashOf(run.row)?.join(' ')} /></svg>
          <span>{run.policy}</span>
        </button>
      ))}
    </div>
  )
}
/** Names and values, the highest first, for the tip of a chart. */
export function TipRows(props: { title: string; rows: { row: number; policy: string; value: number | null; text: string }[] }) {
  const sorted = [...props.rows].sort((a, b) => (b.value ?? -1) - (a.value ?? -1) || a.row - b.row)
  return (
    <>
      <strong>{props.title}</strong>
      {sorted.slice(0, 12).map((each) => <div key={each.row} class="tip-row"><i class="swatch" style={{ background: `var(--${toneOf(each.row)})` }} /><span>{each.policy}</span><b>{each.text}</b></div>)}
      {sorted.length > 12 && <div class="muted">and {sorted.length - 12} more</div>}
    </>
  )
}

/** The numbers behind a picture, for those who cannot or do not want to see it. */
export function Numbers(props: { label: string; head: string[]; rows: { key: number; cells: string[] }[] }) {
  return (
    <details>
      <summary>Numbers</summary>
      <div class="scroll-box" tabIndex={0} role="region" aria-label={`${props.label}: numbers`}>
        <table class="numbers">
          <thead><tr>{props.head.map((text) => <th key={text} scope="col">{text}</th>)}</tr></thead>
          <tbody>{props.rows.map(({ key, cells }) => <tr key={key}><th scope="row">{cells[0]}</th>{cells.slice(1).map((text, i) => <td key={i}>{text}</td>)}</tr>)}</tbody>
        </table>
      </div>
    </details>
  )
}
