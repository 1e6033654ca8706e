// Where jobs will probably sit: planned numbers of workers, put onto nodes step by step from where
// they are now. The plan knows numbers alone; which slots is decided when the time comes.

export interface Slot { node: string; index: number }
export interface Use extends Slot { job: string; from: number; to: number }
export interface Share { from: number; to: number; workers: number }
export interface ProjectedNode { name: string; slots: number }

const key = (slot: Slot) => `${slot.node}\n${slot.index}`

class Board {
  owner = new Map<string, string>()
  since = new Map<string, number>()
  slots = new Map<string, Slot>()
  uses: Use[] = []

  constructor(nodes: ProjectedNode[]) {
    for (const node of nodes) {
      for (let index = 0; index < node.slots; index++) {
        const slot = { node: node.name, index }
        this.slots.set(key(slot), slot)
      }
    }
  }
  give(at: number, job: string, slot: Slot): void {
    this.owner.set(key(slot), job)
    this.since.set(key(slot), at)
  }
  take(at: number, id: string): void {
    const from = this.since.get(id)!
    if (at > from) this.uses.push({ ...this.slots.get(id)!, job: this.owner.get(id)!, from, to: at })
    this.owner.delete(id)
    this.since.delete(id)
  }
  held(job: string): string[] {
    return [...this.owner].filter(([, owner]) => owner === job).map(([id]) => id)
  }
  /** By node: how many slots the job has there, or are free. */
  private count(ids: string[]): Map<string, number> {
    const counts = new Map<string, number>()
    for (const id of ids) counts.set(this.slots.get(id)!.node, (counts.get(this.slots.get(id)!.node) ?? 0) + 1)
    return counts
  }
  shrink(at: number, job: string, by: number): void {
    const held = this.held(job)
    const counts = this.count(held)
    const order = held.sort((a, b) => counts.get(this.slots.get(a)!.node)! - counts.get(this.slots.get(b)!.node)! || this.slots.get(b)!.index - this.slots.get(a)!.index)
    for (const id of order.slice(0, by)) this.take(at, id)
  }
  grow(at: number, job: string, by: number): void {
    const own = this.count(this.held(job))
    const free = [...this.slots.keys()].filter((id) => !this.owner.has(id))
    const room = this.count(free)
    const rank = (id: string) => {
      const node = this.slots.get(id)!.node
      const fits = room.get(node)! >= by ? 1000 - room.get(node)! : room.get(node)!
      return (own.get(node) ?? 0) * 1e6 + fits
    }
    const order = free.sort((a, b) => rank(b) - rank(a))
    for (const id of order.slice(0, by)) this.give(at, job, this.slots.get(id)!)
  }
}

/** Who will use which slot from `now` on. */
export function project(now: number, nodes: ProjectedNode[], held: { job: string; slot: Slot }[], plans: Map<string, Share[]>): Use[] {
  const board = new Board(nodes)
  for (const { job, slot } of held) if (board.slots.has(key(slot))) board.give(now, job, slot)
  const moments = new Set<number>([now])
  for (const shares of plans.values()) {
    for (const share of shares) {
      if (share.from > now) moments.add(share.from)
      if (share.to > now) moments.add(share.to)
    }
  }
  const jobs = new Set([...plans.keys(), ...held.map((each) => each.job)])
  const sorted = [...moments].sort((a, b) => a - b)
  for (const at of sorted) {
    const changes: [string, number][] = []
    for (const job of jobs) {
      const share = plans.get(job)?.find((each) => each.from <= at && at < each.to)
      const change = (share?.workers ?? 0) - board.held(job).length
      if (change < 0) board.shrink(at, job, -change)
      if (change > 0) changes.push([job, change])
    }
    for (const [job, by] of changes.sort((a, b) => b[1] - a[1])) board.grow(at, job, by)
  }
  const end = sorted[sorted.length - 1]
  for (const id of [...board.owner.keys()]) board.take(end, id)
  return board.uses
}

/** Neighbouring slots of one node that a job had for the same time, as one block. */
export interface Block { job: string; node: string; first: number; count: number; from: number; to: number }
export function blocks(uses: Use[]): Block[] {
  const sorted = [...uses].sort((a, b) => a.node.localeCompare(b.node) || a.job.localeCompare(b.job) || a.from - b.from || a.to - b.to || a.index - b.index)
  const all: Block[] = []
  for (const use of sorted) {
    const last = all[all.length - 1]
    if (last && last.job === use.job && last.node === use.node && last.from === use.from && last.to === use.to && last.first + last.count === use.index) {
      last.count++
    } else {
      all.push({ job: use.job, node: use.node, first: use.index, count: 1, from: use.from, to: use.to })
    }
  }
  return all
}

/** How many workers each job had over time. */
export function sharesOf(uses: Use[]): Map<string, Share[]> {
  const edges = new Map<string, Map<number, number>>()
  for (const use of uses) {
    const of = edges.get(use.job) ?? new Map<number, number>()
    of.set(use.from, (of.get(use.from) ?? 0) + 1)
    of.set(use.to, (of.get(use.to) ?? 0) - 1)
    edges.set(use.job, of)
  }
  const result = new Map<string, Share[]>()
  for (const [job, of] of edges) {
    const shares: Share[] = []
    let workers = 0
    let from = 0
    for (const at of [...of.keys()].sort((a, b) => a - b)) {
      if (workers > 0) shares.push({ from, to: at, workers })
      workers += of.get(at)!
      from = at
    }
    const joined: Share[] = []
    for (const share of shares) {
      const last = joined[joined.length - 1]
      if (last && last.to === share.from && last.workers === share.workers) last.to = share.to
      else joined.push(share)
    }
    result.set(job, joined)
  }
  return result
}
