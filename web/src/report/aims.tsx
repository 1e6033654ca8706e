// Pictures of a tournament: two aims against each other, and one aim as bars.
import { useEffect, useRef, useState } from 'preact/hooks'
import { digits, linearTicks, logTicks, secondsText, shareText } from '../axes'
import type { Cell, Column, Comparison, Group } from './data'
import { toneOf } from './series'

/** The width of an element, followed as it changes. */
function useWidth() {
  const host = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(480)
  useEffect(() => {
    const element = host.current!
    const observer = new ResizeObserver(() => setWidth(Math.max(240, element.clientWidth)))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return { host, width }
}

export const noiseText = (noise: number) => (noise ? `speeds off by ${digits(noise * 100)}%` : 'exact speeds')
export const columnName = (column: Column) => `${column.group} ${column.title}`.trim()
const columnAt = (columns: Column[], name: string) => columns.findIndex((column) => columnName(column) === name)
/** Upwards goes the first of these that there is. */
export const aimOf = (columns: Column[]) => ['deadlines met', 'value got', 'rho fair'].map((name) => columnAt(columns, name)).find((column) => column >= 0) ?? 0

export interface AimPoint { policy: string; x: number; y: number; text: string; isCompared: boolean; isFront: boolean }
/** Policies that have both numbers; in front are those than which none is better in both. */
export function pointsOf(group: Group, right: number, up: number): AimPoint[] {
  const points = group.rows.flatMap((row): AimPoint[] => {
    const [x, y] = [row.cells[right], row.cells[up]]
    return x && y ? [{ policy: row.policy, x: x.value, y: y.value, text: x.text, isCompared: !x.apart, isFront: false }] : []
  })
  for (const point of points) {
    point.isFront = point.isCompared && !points.some((other) => other.isCompared && other.x <= point.x && other.y >= point.y && (other.x < point.x || other.y > point.y))
  }
  return points.sort((a, b) => Number(b.isFront) - Number(a.isFront) || a.x - b.x)
}

interface Box { left: number; right: number; top: number; bottom: number }
const touches = (a: Box, b: Box) => a.left < b.right && a.right > b.left && a.top < b.bottom && a.bottom > b.top
/** Where the name of a dot can stand without covering another dot or name; nothing if nowhere. */
function placeFor(name: string, x: number, y: number, taken: Box[], inside: Box): (Box & { x: number; y: number }) | undefined {
  const width = name.length * 6.3
  return [[8, 4], [-8 - width, 4], [-width / 2, -9], [-width / 2, 17]]
    .map(([dx, dy]) => ({ left: x + dx, right: x + dx + width, top: y + dy - 10, bottom: y + dy + 3, x: x + dx, y: y + dy }))
    .find((box) => box.left >= inside.left && box.right <= inside.right + 12 && box.top >= 0 && !taken.some((other) => touches(box, other)))
}

export function TwoAims(props: { comparison: Comparison; group?: Group }) {
  const { host, width } = useWidth()
  const { columns } = props.comparison
  const [right, up] = [columnAt(columns, 'JCT avg'), aimOf(columns)]
  const points = props.group ? pointsOf(props.group, right, up) : []
  if (!props.group || points.length === 0) return <div ref={host}><p class="muted">No policy has both numbers.</p></div>
  const isRelative = props.group.relative
  const height = Math.round(Math.min(380, Math.max(250, width * 0.6)))
  const inside: Box = { left: 44, right: width - 16, top: 10, bottom: height - 26 }
  const [low, high] = [Math.min(...points.map((point) => point.x)) / 1.15, Math.max(...points.map((point) => point.x)) * 1.15]
  const x = (value: number) => inside.left + (Math.log(value / low) / Math.log(high / low)) * (inside.right - inside.left)
  const y = (value: number) => inside.bottom - value * (inside.bottom - inside.top)
  const text = (value: number) => (isRelative ? `${digits(value)}x` : secondsText(value))
  const found = logTicks(low, high, Math.floor(width / 70), !isRelative)
  const ticks = found.length > 1 ? found : [low * 1.15, high / 1.15]
  const taken: Box[] = points.map((point) => ({ left: x(point.x) - 5, right: x(point.x) + 5, top: y(point.y) - 5, bottom: y(point.y) + 5 }))
  const names = points.map((point) => {
    const place = placeFor(point.policy, x(point.x), y(point.y), taken, inside)
    if (place) taken.push(place)
    return place
  })
  return (
    <div ref={host}>
      <p class="muted small">
        {columnName(columns[up])} against JCT ({isRelative ? 'over the best' : 'mean'}), {noiseText(props.group.noise)}: up and left is better. In colour: no policy is better in both.
        Hollow: finished far fewer jobs than others, so its JCT is not compared.
      </p>
      <svg class="aims" width={width} height={height} role="img" aria-label={`${columnName(columns[up])} against mean JCT of ${points.length} policies`}>
        {[0, 0.25, 0.5, 0.75, 1].map((share) => <g key={share}><line class="rule" x1={inside.left} x2={inside.right} y1={y(share)} y2={y(share)} /><text x={inside.left - 8} y={y(share) + 4} text-anchor="end">{shareText(share)}</text></g>)}
        {ticks.map((tick) => <g key={tick}><line class="rule" x1={x(tick)} x2={x(tick)} y1={inside.top} y2={inside.bottom} /><text x={Math.min(x(tick), width - 20)} y={height - 8} text-anchor="middle">{text(tick)}</text></g>)}
        <polyline class="edge" points={points.filter((point) => point.isFront).map((point) => `${x(point.x)},${y(point.y)}`).join(' ')} />
        {points.map((point) => (
          <circle key={point.policy} class={`spot ${point.isFront ? 'front' : point.isCompared ? '' : 'hollow'}`} cx={x(point.x)} cy={y(point.y)} r="5">
            <title>{`${point.policy}: ${columnName(columns[up])} ${shareText(point.y)}, JCT ${isRelative ? point.text : secondsText(point.x)}`}</title>
          </circle>
        ))}
        {names.map((place, i) => place && <text key={points[i].policy} class="name" x={place.x} y={place.y}>{points[i].policy}</text>)}
      </svg>
    </div>
  )
}

const THICK = 13
/** A bar for each policy; exact and noisy speeds beside each other, the best of the first on top. */
export function OneAim(props: { column: Column; index: number; groups: Group[] }) {
  const { host, width } = useWidth()
  const { column, index, groups } = props
  const cells = groups.map((group) => new Map(group.rows.map((row): [string, Cell | null] => [row.policy, row.cells[index] ?? null])))
  const first = (policy: string) => cells[0]?.get(policy)?.value ?? NaN
  const policies = [...(cells[0]?.keys() ?? [])].sort((a, b) => (column.better > 0 ? first(b) - first(a) : first(a) - first(b)) || 0)
  const most = Math.max(...cells.flatMap((each) => [...each.values()]).map((cell) => cell?.value ?? 0), 0) || 1
  const left = Math.min(150, Math.max(...policies.map((policy) => policy.length), 4) * 6.6 + 8)
  const scale = (value: number) => left + (value / most) * (width - 62 - left)
  const step = THICK * groups.length + 8
  const height = policies.length * step + 8
  return (
    <div ref={host}>
      <p class="muted small">{column.meaning} {column.better > 0 ? 'More is better.' : column.better < 0 ? 'Less is better.' : ''}</p>
      {groups.length > 1 && <ul class="legend inline">{groups.map((group, i) => <li key={i}><i class="swatch" style={{ background: `var(--${toneOf(i)})` }} aria-hidden="true" />{noiseText(group.noise)}</li>)}</ul>}
      <svg class="aims" width={width} height={height} role="img" aria-label={`${columnName(column)} of ${policies.length} policies; the table has the numbers`}>
        {linearTicks(0, most, Math.max(2, Math.floor((width - left) / 90))).map((tick) => <line key={tick} class="rule" x1={scale(tick)} x2={scale(tick)} y1={0} y2={height} />)}
        {policies.map((policy, row) => (
          <g key={policy}>
            <text class="name" x={left - 6} y={row * step + step / 2 + 5} text-anchor="end">{policy.length > 21 ? `${policy.slice(0, 20)}…` : policy}</text>
            {cells.map((of, i) => {
              const cell = of.get(policy)
              const y = 4 + row * step + i * THICK
              if (!cell) return <text key={i} x={left + 4} y={y + 8}>–</text>
              const [low, high] = [Math.max(0, cell.value - (cell.half ?? 0)), Math.min(cell.value + (cell.half ?? 0), most * 1.05)]
              return (
                <g key={i}>
                  <rect x={left} y={y} width={Math.max(1, scale(cell.value) - left)} height={10} rx={2} fill={`var(--${toneOf(i)})`} opacity={cell.apart ? 0.35 : 1} />
                  {high > low && <line class="whisker" x1={scale(low)} x2={scale(high)} y1={y + 5} y2={y + 5} />}
                  <text x={scale(Math.max(high, cell.value)) + 5} y={y + 9}>{cell.text}</text>
                </g>
              )
            })}
          </g>
        ))}
      </svg>
    </div>
  )
}
