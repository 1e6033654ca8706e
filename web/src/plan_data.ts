// From what the platform tells of past and future to the rows and bars of the Plan page.
import type { GanttBar, GanttMark } from './gantt'
import { blocks, project, sharesOf, type Share, type Use } from './project'
import { ms, spanText } from './time'
import type { FutureReply, JobBrief, JobStatus, NodeStatus, PlannedShare, Timeline, WhatIfReply } from './types'

export interface PlanNode { name: string; slots: number; isOut: boolean; isAdded: boolean; isUp: boolean }
export interface PlanJob { id: string; name: string; promised: number; finish: number; finishNow: number; isOver: boolean; state: string }
export interface PlanData { now: number; nodes: PlanNode[]; jobs: PlanJob[]; past: Use[]; future: Use[]; plans: Map<string, Share[]> }

const SOON = 5000
const read = (all: PlannedShare[]): Share[] => all.map((each) => ({ from: ms(each.from), to: ms(each.to), workers: each.workers }))

/** What begins in a moment begins now: a job that only pauses does not leave its slots. */
function shares(all: PlannedShare[], now: number): Share[] {
  const found = read(all).filter((each) => each.to > now)
  if (found.length > 0 && found[0].from > now && found[0].from - now < SOON) found[0].from = now
  return found
}

function jobsOf(timeline: Timeline, known: Map<string, JobStatus>): Map<string, JobBrief> {
  const all = new Map(timeline.jobs.map((job) => [job.id, job]))
  for (const job of known.values()) {
    if (!all.has(job.id) && job.eta) all.set(job.id, { id: job.id, name: job.spec.name, tenant: job.spec.tenant, class: job.class, state: job.state, submitted: job.submitted, finished: job.finished, deadline: job.deadline, promised: job.promised })
  }
  return all
}

export interface Change { out: Set<string>; added: number; reply?: WhatIfReply }

export function planData(timeline: Timeline, future: FutureReply | undefined, nodes: NodeStatus[], known: Map<string, JobStatus>, change: Change): PlanData {
  const now = Math.max(ms(timeline.to), future ? ms(future.at) : 0)
  const planNodes: PlanNode[] = nodes.map((node) => ({ name: node.name, slots: node.slots, isOut: change.out.has(node.name), isAdded: false, isUp: node.up }))
  if (change.added > 0) planNodes.push({ name: 'added', slots: change.added, isOut: false, isAdded: true, isUp: true })
  const plans = new Map<string, Share[]>()
  const finishes = new Map<string, number>()
  const before = new Map<string, number>()
  for (const job of future?.jobs ?? []) {
    plans.set(job.job, shares(job.shares, now))
    finishes.set(job.job, ms(job.finish))
    before.set(job.job, ms(job.finish))
  }
  for (const job of change.reply?.jobs ?? []) {
    plans.set(job.job, shares(job.shares_then, now))
    finishes.set(job.job, ms(job.finish_then))
    before.set(job.job, ms(job.finish_now))
  }
  const past: Use[] = timeline.uses.map((use) => ({ job: use.job, node: use.node, index: use.index, from: ms(use.from), to: use.to ? ms(use.to) : now }))
  const held = timeline.uses.filter((use) => !use.to).map((use) => ({ job: use.job, slot: { node: use.node, index: use.index } }))
  const room = planNodes.filter((node) => !node.isOut && node.isUp)
  const jobs = [...jobsOf(timeline, known).values()].map((job): PlanJob => ({
    id: job.id, name: job.name || `job ${job.id}`, promised: ms(job.promised), state: job.state,
    finish: job.finished ? ms(job.finished) : finishes.get(job.id) ?? NaN, finishNow: before.get(job.id) ?? NaN, isOver: !!job.finished,
  }))
  return { now, nodes: planNodes, jobs, past, future: project(now, room, held, plans), plans }
}

export const isHurt = (job: PlanJob) => job.finish > job.finishNow + 1000 && !job.isOver
export const breaks = (job: PlanJob) => !job.isOver && Number.isFinite(job.promised) && (!Number.isFinite(job.finish) || job.finish > job.promised)

export function nodeBars(data: PlanData): GanttBar[] {
  const row = new Map(data.nodes.map((node, i) => [node.name, i]))
  const names = new Map(data.jobs.map((job) => [job.id, job.name]))
  const made = (uses: Use[], isFuture: boolean) =>
    blocks(uses).filter((block) => row.has(block.node)).map((block): GanttBar => ({
      row: row.get(block.node)!, lane: block.first, lanes: block.count, from: block.from, to: block.to, job: block.job,
      text: names.get(block.job) ?? `job ${block.job}`, isFuture,
    }))
  return [...made(data.past, false), ...made(data.future, true)]
}

export function jobRows(data: PlanData, from: number, to: number): PlanJob[] {
  const used = new Map<string, number>()
  for (const use of data.past) if (use.to > from && use.from < to) used.set(use.job, Math.min(used.get(use.job) ?? Infinity, use.from))
  for (const [job, plan] of data.plans) for (const share of plan) if (share.to > from && share.from < to) used.set(job, Math.min(used.get(job) ?? Infinity, share.from))
  return data.jobs.filter((job) => used.has(job.id)).sort((a, b) => used.get(a.id)! - used.get(b.id)! || Number(a.id) - Number(b.id))
}

function markOf(job: PlanJob, row: number): GanttMark {
  const slack = job.promised - job.finish
  return { row, at: job.promised, isKept: !(slack < 0) && !breaks(job), from: job.finish, label: slack < 0 ? `${spanText(-slack)} late` : `${spanText(slack)} to spare` }
}

export function jobBars(data: PlanData, rows: PlanJob[]): { bars: GanttBar[]; marks: GanttMark[]; lanes: number } {
  const past = sharesOf(data.past)
  let lanes = 1
  for (const all of [past, data.plans]) for (const each of all.values()) for (const share of each) lanes = Math.max(lanes, share.workers)
  const bars: GanttBar[] = []
  const marks: GanttMark[] = []
  rows.forEach((job, row) => {
    const add = (share: Share, isFuture: boolean) => bars.push({
      row, lane: lanes - share.workers, lanes: share.workers, from: isFuture ? Math.max(share.from, data.now) : share.from, to: share.to,
      job: job.id, text: share.workers === 1 ? '1 worker' : `${share.workers} workers`, isFuture, isHurt: isFuture && breaks(job),
    })
    for (const share of past.get(job.id) ?? []) add(share, false)
    for (const share of data.plans.get(job.id) ?? []) if (share.to > data.now) add(share, true)
    if (Number.isFinite(job.promised)) marks.push(markOf(job, row))
  })
  return { bars, marks, lanes }
}

/** A view that shows what there is, with the present in it. */
export function fittingView(data: PlanData, past = 86_400_000, next = 86_400_000): { from: number; to: number } {
  const starts = data.past.filter((use) => use.to > data.now - past).map((use) => use.from)
  const open = data.jobs.filter((job) => !job.isOver)
  const promises = open.map((job) => job.promised).filter(Number.isFinite)
  // One job that goes on for long must not press all others to the edge.
  const finishes = open.map((job) => job.finish).filter(Number.isFinite).sort((a, b) => a - b)
  const most = finishes[Math.floor(0.8 * (finishes.length - 1))] ?? data.now
  const first = starts.reduce((a, b) => Math.min(a, b), data.now - 20_000)
  const last = promises.reduce((a, b) => Math.max(a, b), Math.max(most, data.now + 30_000))
  const from = Math.max(first, data.now - past)
  const to = Math.min(last, data.now + next)
  // No more past than future by four: what is to come matters more.
  const begin = Math.max(from, data.now - Math.max(4 * (to - data.now), 120_000))
  const margin = (to - begin) * 0.03
  return { from: begin - margin, to: to + margin }
}
