// The comparison of policies: one row each, sorted by any column, the best of each marked.
import { useMemo, useState } from 'preact/hooks'
import type { Cell, Column, Comparison, Group, Row } from './data'
import { toneOf } from './series'

type Order = 'ascending' | 'descending'
/** Column -1 is the name of the policy. */
export interface Sorting { column: number; order: Order }

/** Within a group; what is not known goes last in both orders, equals stay as they were. */
export function sortedRows(rows: Row[], sorting?: Sorting): { row: Row; index: number }[] {
  const all = rows.map((row, index) => ({ row, index }))
  if (!sorting) return all
  const sign = sorting.order === 'ascending' ? 1 : -1
  const value = (row: Row) => row.cells[sorting.column]?.value
  return all.sort((a, b) => {
    if (sorting.column < 0) return sign * a.row.policy.localeCompare(b.row.policy) || a.index - b.index
    const [x, y] = [value(a.row), value(b.row)]
    if (x === undefined || y === undefined) return Number(x === undefined) - Number(y === undefined) || a.index - b.index
    return sign * (x - y) || a.index - b.index
  })
}

function Head(props: { column?: Column; index: number; sorting?: Sorting; onSort: (sorting: Sorting) => void }) {
  const { column, index, sorting } = props
  const order = sorting?.column === index ? sorting.order : undefined
  const first: Order = !column || column.better < 0 ? 'ascending' : 'descending'
  const other: Order = order === 'ascending' ? 'descending' : 'ascending'
  return (
    <th scope="col" title={column?.meaning} aria-sort={order}>
      <button type="button" onClick={() => props.onSort({ column: index, order: order ? other : first })}>
        <span class="head-group">{column?.group}</span><span class="head-title">{column ? `${column.title} ${column.unit}` : 'policy'}{order && <span aria-hidden="true">{order === 'ascending' ? ' ▲' : ' ▼'}</span>}</span>
      </button>
    </th>
  )
}

function Value(props: { column: Column; cell: Cell | null }) {
  const { column, cell } = props
  if (!cell) return <td>–</td>
  return (
    <td class={cell.best ? 'best' : cell.apart ? 'apart' : ''} title={cell.apart ? 'Finished far fewer jobs than others: not compared' : undefined}>
      {cell.text}{cell.plus_minus && <small> ±{cell.plus_minus}</small>}{cell.best && <span class="sr-only"> (best)</span>}
      {column.unit === '%' && <span class="share" aria-hidden="true"><i style={{ width: `${100 * Math.min(1, Math.max(0, cell.value))}%` }} /></span>}
    </td>
  )
}

function Body(props: { columns: Column[]; group: Group; sorting?: Sorting; hasSwatches: boolean }) {
  const { columns, group } = props
  const rows = useMemo(() => sortedRows(group.rows, props.sorting), [group, props.sorting])
  return (
    <tbody>
      {group.title && <tr class="band"><th colSpan={columns.length + 1} scope="rowgroup"><span>{group.title}</span></th></tr>}
      {rows.map(({ row, index }) => (
        <tr key={index}>
          <th scope="row" title={row.policy}>{props.hasSwatches && <i class="swatch" style={{ background: `var(--${toneOf(index)})` }} aria-hidden="true" />}{row.policy}</th>
          {row.failure ? <td class="failed" colSpan={columns.length}>failed: {row.failure}</td> : columns.map((column, i) => <Value key={i} column={column} cell={row.cells[i]} />)}
        </tr>
      ))}
    </tbody>
  )
}

export function ComparisonTable(props: { comparison: Comparison; groups: Group[]; label: string; hasSwatches?: boolean }) {
  const { columns } = props.comparison
  const [sorting, setSorting] = useState<Sorting>()
  return (
    <>
      <div class="wide-table" tabIndex={0} role="region" aria-label={props.label}>
        <table class="comparison">
          <thead><tr><Head index={-1} sorting={sorting} onSort={setSorting} />{columns.map((column, i) => <Head key={i} column={column} index={i} sorting={sorting} onSort={setSorting} />)}</tr></thead>
          {props.groups.map((group) => <Body key={group.title} columns={columns} group={group} sorting={sorting} hasSwatches={props.hasSwatches ?? false} />)}
        </table>
      </div>
      <details>
        <summary>What the columns mean</summary>
        <dl class="facts">{columns.map((column, i) => <><dt key={`t${i}`}>{column.group} {column.title} {column.unit}</dt><dd key={`d${i}`}>{column.meaning}</dd></>)}</dl>
      </details>
    </>
  )
}
