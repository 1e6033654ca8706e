// A job's workers in a thumbnail: what they were, how many there are, and what is planned. Policies
// that keep no plan decide as they go: there the present goes on, dashed, and it says so.
import { ms } from './time'
import type { PlannedShare } from './types'

const HEIGHT = 22
const EDGE = 4
const PAST_PART = 1 / 3
const SHARES_TOLD = 6

export interface Spark { past: string; planned: string; goesOn: string; now: { x: number; y: number }; words: string; isPlanned: boolean }
interface Step { from: number; to: number; workers: number }

const stepsOf = (shares: PlannedShare[]): Step[] => shares.map((each) => ({ from: ms(each.from), to: ms(each.to), workers: each.workers }))

/** Paths and words, from shares to pixels. */
export function sparkOf(props: { plan: PlannedShare[]; past?: PlannedShare[]; now: number; workers: number; width: number }): Spark {
  const { now, workers, width } = props
  const plan = stepsOf(props.plan).map((each) => ({ ...each, from: Math.max(each.from, now) })).filter((each) => each.to > now)
  const past = stepsOf(props.past ?? []).filter((each) => each.from < now)
  const top = Math.max(workers, 1, ...plan.map((each) => each.workers), ...past.map((each) => each.workers))
  const y = (n: number) => HEIGHT - 2 - (n / top) * (HEIGHT - 5)
  const here = past.length ? EDGE + (width - EDGE) * PAST_PART : EDGE
  const begin = past[0]?.from ?? now
  const end = plan.length ? plan[plan.length - 1].to : now + 1
  const before = (at: number) => 1 + ((Math.min(at, now) - begin) / Math.max(now - begin, 1)) * (here - 1)
  const after = (at: number) => here + ((at - now) / Math.max(end - now, 1)) * (width - 2 - here)

  let was = ''
  for (const step of past) was += `${was ? 'V' : `M${before(step.from)} `}${y(step.workers)}H${before(step.to)}`
  if (was) was += `H${here}V${y(workers)}`
  let planned = was ? `M${here} ${y(workers)}` : `M1 ${y(workers)}H${here}`
  let last = now
  for (const step of plan) {
    if (step.from > last + 1) planned += `V${y(0)}H${after(step.from)}`
    planned += `V${y(step.workers)}H${after(step.to)}`
    last = step.to
  }
  const list = (steps: Step[]) => steps.slice(0, SHARES_TOLD).map((each) => each.workers).join(', then ')
  const history = past.length > 1 ? `was ${list(past.slice(0, -1).slice(-SHARES_TOLD))}; ` : ''
  return {
    past: was, planned: plan.length ? planned : '', goesOn: plan.length ? '' : `M${here + 2} ${y(workers)}H${width}`,
    now: { x: was ? here : 2.5, y: y(workers) }, isPlanned: plan.length > 0,
    words: `${history}${workers} workers now; ${plan.length ? `planned ${list(plan)}` : 'not planned'}`,
  }
}

export function Sparkline(props: { plan: PlannedShare[]; past?: PlannedShare[]; now: number; workers: number; width?: number }) {
  const { width = 84 } = props
  const spark = sparkOf({ ...props, width })
  const hasWorkers = props.workers > 0 || spark.past !== ''
  return (
    <span class="spark-box">
      <svg class="spark" width={width} height={HEIGHT} role="img" aria-label={spark.words} data-planned={spark.isPlanned}>
        <title>{spark.words}</title>
        {spark.past && <path class="spark-past" d={spark.past} />}
        {spark.planned && <path class="spark-area" d={`${spark.planned}V${HEIGHT - 2}H${spark.past ? spark.now.x : 1}Z`} />}
        {spark.planned && <path class="spark-line" d={spark.planned} />}
        {spark.goesOn && <path class={hasWorkers ? 'spark-goes-on' : 'spark-none'} d={spark.goesOn} />}
        <circle cx={spark.now.x} cy={spark.now.y} r="2.2" />
      </svg>
      {!spark.isPlanned && hasWorkers && <span class="spark-note" aria-hidden="true">not planned</span>}
    </span>
  )
}
