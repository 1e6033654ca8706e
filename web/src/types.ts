// The messages of the REST interface, as far as the dashboard reads them (docs/openapi.json).
// Moments are RFC 3339; 64-bit numbers are text.

export interface SpeedPoint { workers: number; steps_per_second: number }
export interface WorkerLimits { min: number; max: number; listed: number[] }
export interface PlannedShare { from: string; to: string; workers: number }

export interface JobSpec {
  name: string; tenant: string; command: string[]; kind: string; steps: number; deadline: string
  class: string; model: string; batch: number; workers?: WorkerLimits; speeds: SpeedPoint[]; until: string
}

export interface MemoryUse { worker_bytes: string; limit_bytes: string; batch: string; workers: number; pieces: number; piece_rows: string; text: string }

export interface JobStatus {
  id: string; spec: JobSpec; user: string; state: string; class: string; reason: string; message: string
  steps_done: number; steps_total: number; workers: number; slots: string[]
  steps_per_second: number; loss: number
  submitted?: string; started?: string; finished?: string; deadline?: string; promised?: string
  eta?: string; eta_early?: string; eta_late?: string
  at_risk: boolean; missed: boolean; exit_code: number; exit_cause: string
  plan: PlannedShare[]; past: PlannedShare[]; resizes: number; restarts: number; gpu_seconds: number
  memory?: MemoryUse
}
export interface JobList { jobs: JobStatus[]; next_page_token: string }

export interface CounterOffer { kind: string; deadline?: string; gpus: number }
export interface Quote {
  admitted: boolean; reason: string; message: string; promised?: string; finish?: string
  finish_early?: string; finish_late?: string; earliest?: string; gpu_hours: number
  provenance: string; offers: CounterOffer[]; promises_kept_ratio: number; promises_made: number
  median_error_ratio: number; plan: PlannedShare[]
}
export interface SubmitReply { job: JobStatus; quote?: Quote }

export interface Why { job: string; standing: string; reason: string; binding: string; remedy: string }
export interface BlameEntry {
  at: string; workers_before: number; workers_after: number; cause: string; caused_by: string
}

export interface SlotStatus { index: number; job: string; releasing: boolean; device: string }
export interface NodeStatus {
  name: string; agent: string; gpu_type: string; slots: number; slots_used: number; up: boolean
  draining: boolean; slot: SlotStatus[]; heard?: string; maintenance: { from: string; to: string }[]
  emulated: boolean
}
export interface Tenant {
  name: string; guarantee: number; borrow?: number; budget_gpu_hours: number; used_gpu_hours: number
  gpus_now: number; jobs: number
}
export interface PolicyStatus {
  live: string; shadow: string; answers: number; answers_differ: number
  live_deadlines_met_ratio: number; shadow_deadlines_met_ratio: number
}
export interface PolicyEntry {
  name: string; paper: string; fidelity: string; objective: string; needs: string
  use_when: string; options: string
}

export interface WhatIfJob {
  job: string; name: string; finish_now?: string; finish_then?: string; met_now: boolean
  met_then: boolean; shares_now: PlannedShare[]; shares_then: PlannedShare[]
  gpu_hours_now: number; gpu_hours_then: number
  promised?: string; promise_now: string; promise_then: string // kept, at_risk, broken or nothing.
  refused_then: string
}
export interface WhatIfReply {
  jobs: WhatIfJob[]; deadlines_met_ratio_now: number; deadlines_met_ratio_then: number
  mean_finish_seconds_now: number; mean_finish_seconds_then: number
  hidden_later: number; hidden_earlier: number; hidden_broken: number
}

export interface EventRecord {
  sequence: string; at: string; type: string; job: string; node: string; user: string
  message: string; workers: number; remedies: string[]
}

export interface Overview {
  at: string; states: { state: string; jobs: number }[]; nodes: number; nodes_up: number
  gpus: number; gpus_used: number; promises_kept: number; promises_broken: number
  promises_open: number; at_risk: number; gpu_hours_useful: number; gpu_hours_lost: number
  gpu_hours_idle: number; policy: string
}
export interface JobBrief {
  id: string; name: string; tenant: string; class: string; state: string
  submitted?: string; finished?: string; deadline?: string; promised?: string
}
export interface SlotUse { job: string; node: string; index: number; from: string; to?: string }
export interface UsePoint { at: string; gpus: number; used: number; jobs: number }
export interface Timeline {
  from: string; to: string; uses: SlotUse[]; use: UsePoint[]; jobs: JobBrief[]; truncated: boolean
}
export interface FutureJob { job: string; shares: PlannedShare[]; finish?: string }
export interface FutureReply { at: string; jobs: FutureJob[] }
export interface Decision {
  sequence: string; at: string; input: string; events: EventRecord[]; commands: string[]
}
export interface PastReply {
  at: string; sequence: string; overview: Overview; jobs: JobStatus[]; nodes: NodeStatus[]
  decision?: Decision; first: string; last: string
}
export interface JobPoint {
  at: string; done: number; steps_per_second: number; loss: number; workers: number
}
export interface JobHistory {
  job: string; points: JobPoint[]
  generations: { generation: string; at: string; workers: number; pause_seconds: number }[]
  speeds: SpeedPoint[]; events: EventRecord[]
}
export interface Me { user: string; tenant: string; role: 'viewer' | 'user' | 'admin' }
export interface Version { version: string; policy: string }

export const OVER = new Set(['SUCCEEDED', 'FAILED', 'CANCELLED', 'REJECTED'])
