// Where jobs will probably sit: planned numbers of workers, put onto nodes step by step from where
// they are now. The plan knows numbers alone; which slots is decided when the time comes.

export interface Slot { node: string; index: number }
export interface Use extends Slot { job: string; from: number; to: number }
export interface Share { from: number; to: number; workers: number }
export interface ProjectedNode { name: string; slots: number }

interface Seat extends Slot { since: number }

/** Free and held slots by node, so that a change costs what it moves and not what there is. */
class Board {
  uses: Use[] = []
  private free = new Map<string, number[]>() // Each node's, rising.
  private seats = new Map<string, Map<string, Seat[]>>() // By job and node.

  constructor(nodes: ProjectedNode[]) {
    for (const node of nodes) this.free.set(node.name, Array.from({ length: node.slots }, (_, index) => index))
  }
  count(job: string): number {
    let sum = 0
    for (const seats of this.seats.get(job)?.values() ?? []) sum += seats.length
    return sum
  }
  give(at: number, job: string, slot: Slot): void {
    const room = this.free.get(slot.node)
    const place = room?.indexOf(slot.index) ?? -1
    if (place < 0) return
    room!.splice(place, 1)
    const nodes = this.seats.get(job) ?? new Map<string, Seat[]>()
    nodes.set(slot.node, [...(nodes.get(slot.node) ?? []), { ...slot, since: at }])
    this.seats.set(job, nodes)
  }
  /** Leaves nodes where it has little first. */
  shrink(at: number, job: string, by: number): void {
    const nodes = [...this.seats.get(job)!].sort((a, b) => a[1].length - b[1].length)
    for (const [node, seats] of nodes) {
      seats.sort((a, b) => a.index - b.index)
      const gone = seats.splice(Math.max(0, seats.length - by))
      by -= gone.length
      this.free.set(node, [...this.free.get(node)!, ...gone.map((seat) => seat.index)].sort((a, b) => a - b))
      for (const seat of gone) if (at > seat.since) this.uses.push({ node, index: seat.index, job, from: seat.since, to: at })
      if (seats.length === 0) this.seats.get(job)!.delete(node)
    }
    if (this.count(job) === 0) this.seats.delete(job)
  }
  /** Stays where it has most, else goes where it just fits, else where there is most room. */
  grow(at: number, job: string, by: number): void {
    const own = (node: string) => this.seats.get(job)?.get(node)?.length ?? 0
    const fit = (room: number) => (room >= by ? 1 / room : room - Number.MAX_SAFE_INTEGER)
    const nodes = [...this.free].filter(([, room]) => room.length > 0)
      .map(([node, room]) => ({ node, own: own(node), fit: fit(room.length) })).sort((a, b) => b.own - a.own || b.fit - a.fit)
    for (const { node } of nodes) {
      if (by === 0) return
      for (const index of this.free.get(node)!.slice(0, by)) {
        this.give(at, job, { node, index })
        by--
      }
    }
  }
  end(at: number): void {
    for (const job of [...this.seats.keys()]) this.shrink(at, job, this.count(job))
  }
}

/** How many workers each job is to have from each moment on. */
function turns(now: number, held: string[], plans: Map<string, Share[]>): [number, Map<string, number>][] {
  const all = new Map<number, Map<string, number>>([[now, new Map()]])
  const set = (at: number, job: string, workers: number) => all.set(at, (all.get(at) ?? new Map<string, number>()).set(job, workers))
  for (const [job, shares] of plans) {
    for (const share of shares.filter((each) => each.to > now).sort((a, b) => a.from - b.from)) {
      set(Math.max(share.from, now), job, share.workers)
      set(share.to, job, 0)
    }
  }
  for (const job of held) if (!all.get(now)!.has(job)) set(now, job, 0)
  return [...all].sort((a, b) => a[0] - b[0])
}

/** Who will use which slot from `now` on. */
export function project(now: number, nodes: ProjectedNode[], held: { job: string; slot: Slot }[], plans: Map<string, Share[]>): Use[] {
  const board = new Board(nodes)
  for (const { job, slot } of held) board.give(now, job, slot)
  const all = turns(now, held.map((each) => each.job), plans)
  for (const [at, wanted] of all) {
    const growing: [string, number][] = []
    for (const [job, workers] of wanted) {
      const change = workers - board.count(job)
      if (change < 0) board.shrink(at, job, -change)
      if (change > 0) growing.push([job, change])
    }
    for (const [job, by] of growing.sort((a, b) => b[1] - a[1])) board.grow(at, job, by)
  }
  board.end(all[all.length - 1][0])
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
