// The functions that need no browser.
import { arranged, inSight, NO_FILTER } from '../src/filter'
import { pastAt } from '../src/kept'
import { decimals, shellWords, speedAt, speedPoints } from '../src/numbers'
import { lastUntil } from '../src/pages/past'
import { specOf } from '../src/pages/submit'
import { breaks, fittingView, jobBars, jobRows, nodeBars, planData } from '../src/plan_data'
import { blocks, project, sharesOf, type Share } from '../src/project'
import { FIRST_PAGE, nextPage, toAskFor } from '../src/refresh'
import { routeOf } from '../src/router'
import { recordOf, splitMessages } from '../src/stream'
import { deadlineText, spanText, ticks } from '../src/time'
import type { JobStatus, NodeStatus, Timeline } from '../src/types'

type Test = (name: string, body: () => void) => void
interface Assert { deepEqual(a: unknown, b: unknown): void; equal(a: unknown, b: unknown): void; ok(value: unknown, message?: string): void }

const draft = { name: 'n', kind: 'emulated', command: '', directory: '', steps: '100', deadline: '', class: '', model: '', min: '', max: '', speeds: '1:10', tenant: '' }
const T = Date.parse('2030-01-01T12:00:00Z')
const iso = (seconds: number) => new Date(T + seconds * 1000).toISOString()
const node = (name: string, slots: number): NodeStatus => ({ name, slots, agent: 'a', gpu_type: '', slots_used: 0, up: true, draining: false, slot: [], maintenance: [], emulated: true })

export function run(test: Test, assert: Assert): void {
  test('spans have two units at most', () => {
    assert.deepEqual([0, 45, 75, 900, 3600, 4000, 90_000].map((s) => spanText(s * 1000)), ['0 s', '45 s', '1 min 15 s', '15 min', '1 h', '1 h 6 min', '1 d 1 h'])
    assert.equal(spanText(-5000), '−5 s')
    assert.equal(spanText(NaN), '–')
  })
  test('deadlines are made absolute, what is not understood is left to the platform', () => {
    const now = new Date(T)
    assert.equal(deadlineText('90m', now), iso(5400))
    assert.equal(deadlineText('now+2h', now), iso(7200))
    const wall = new Date(deadlineText('18:30', now))
    assert.deepEqual([wall.getHours(), wall.getMinutes()], [18, 30])
    assert.ok(wall > now)
    assert.equal(deadlineText('25:99', now), '25:99')
    assert.equal(deadlineText('soon', now), 'soon')
  })
  test('ticks stay inside and are few', () => {
    for (const span of [15_000, 600_000, 7_200_000, 172_800_000, 5_184_000_000]) {
      const all = ticks(T, T + span, 8)
      assert.ok(all.length > 0 && all.length <= 62, `${span}: ${all.length}`)
      assert.ok(all.every((tick) => tick.at >= T && tick.at <= T + span))
    }
  })
  test('jobs beyond one page of those that wait are asked for in turn, who trains or changed at every turn', () => {
    const job = (id: number, workers = 0, state = 'ADMITTED') => ({ id: `${id}`, state, workers }) as JobStatus
    const known = [job(9), job(8, 0, 'SUCCEEDED'), job(7), job(6), job(5), job(4, 2, 'RUNNING'), job(3)]
    const first = { jobs: [job(9), job(6)], next_page_token: 'on' }
    assert.deepEqual(toAskFor(['2', '9'], known, FIRST_PAGE, first), ['2', '7', '4'])
    const second = nextPage(first)
    assert.deepEqual(second, { token: 'on', below: 6 })
    const last = { jobs: [job(5)], next_page_token: '' }
    assert.deepEqual(toAskFor([], known, second, last), ['4', '3'])
    assert.deepEqual(nextPage(last), FIRST_PAGE)
  })
  test('curves are straight between their points', () => {
    const points = [{ workers: 4, steps_per_second: 30 }, { workers: 1, steps_per_second: 10 }]
    assert.equal(speedAt(points, 1), 10)
    assert.equal(speedAt(points, 4), 30)
    assert.ok(Math.abs(speedAt(points, 2) - 16.6667) < 0.001)
    assert.equal(speedAt(points, 9), 30)
    assert.equal(decimals(speedAt([], 3)), '–')
  })
  test('command lines and speeds are read as people write them', () => {
    assert.deepEqual(shellWords(`python "my train.py" --x 'a b' c\\ d ""`), ['python', 'my train.py', '--x', 'a b', 'c d', ''])
    assert.deepEqual(speedPoints('1:10, 2:19.5'), [{ workers: 1, steps_per_second: 10 }, { workers: 2, steps_per_second: 19.5 }])
    assert.equal(speedPoints('fast'), undefined)
  })
  test('a draft becomes a job, or says what is missing', () => {
    const { spec } = specOf({ ...draft, deadline: '1h', max: '8' }, new Date(T))
    assert.deepEqual(spec, { name: 'n', kind: 'emulated', steps: 100, deadline: iso(3600), speeds: [{ workers: 1, steps_per_second: 10 }], workers: { min: 0, max: 8 } })
    assert.equal(specOf({ ...draft, steps: '' }).problem?.field, 'steps')
    assert.equal(specOf({ ...draft, speeds: 'x' }).problem?.field, 'speeds')
    assert.equal(specOf({ ...draft, speeds: '' }).problem?.field, 'speeds')
    assert.equal(specOf({ ...draft, kind: 'elastic' }).problem?.field, 'command')
  })
  test('events come out of a stream that is cut anywhere', () => {
    const text = ': nothing new\n\nid: 7\nevent: a\ndata: {"sequence":"7"}\n\nid: 8\nevent: b\ndata: {"sequence":"8"}\n\n'
    for (let cut = 0; cut <= text.length; cut++) {
      const first = splitMessages(text.slice(0, cut))
      const second = splitMessages(first.rest + text.slice(cut))
      const found = [...first.messages, ...second.messages].map(recordOf).filter(Boolean).map((each) => each!.sequence)
      assert.deepEqual(found, ['7', '8'])
    }
    assert.equal(recordOf('data: not json'), undefined)
  })
  test('only the rows in sight are drawn', () => {
    assert.deepEqual(inSight(10_000, 0, 520, 52), { first: 0, last: 16 })
    const far = inSight(10_000, 260_000, 520, 52)
    assert.ok(far.first <= 5000 && far.last >= 5010 && far.last - far.first < 30)
    assert.deepEqual(inSight(3, 9999, 520, 52), { first: 3, last: 3 })
  })
  test('jobs are found and put in order', () => {
    const job = (id: string, more: Partial<JobStatus>): JobStatus => ({ id, spec: { name: `job-${id}`, tenant: '', model: '' }, user: 'ann', state: 'RUNNING', class: 'slo', steps_done: 0, steps_total: 10, workers: 0, ...more } as JobStatus)
    const jobs = [job('2', { promised: iso(100), eta: iso(90) }), job('10', { state: 'SUCCEEDED' }), job('3', { promised: iso(100), eta: iso(99) })]
    assert.deepEqual(arranged(jobs, NO_FILTER).map((each) => each.id), ['10', '3', '2'])
    assert.deepEqual(arranged(jobs, { ...NO_FILTER, order: 'slack' }).map((each) => each.id), ['3', '2', '10'])
    assert.deepEqual(arranged(jobs, { ...NO_FILTER, state: 'active' }).map((each) => each.id), ['3', '2'])
    assert.deepEqual(arranged(jobs, { ...NO_FILTER, text: 'JOB-1' }).map((each) => each.id), ['10'])
  })
  test('the projection gives nobody a slot twice and everybody what was planned', () => {
    const nodes = [{ name: 'a', slots: 4 }, { name: 'b', slots: 4 }]
    const plans = new Map([['1', [{ from: 0, to: 50, workers: 6 }, { from: 50, to: 100, workers: 2 }]], ['2', [{ from: 0, to: 50, workers: 2 }, { from: 50, to: 80, workers: 6 }]], ['3', [{ from: 80, to: 90, workers: 4 }]]])
    const held = [0, 1, 2, 3].map((index) => ({ job: '1', slot: { node: 'a', index } }))
    const uses = project(0, nodes, held, plans)
    for (const at of [0, 25, 49, 50, 79, 80, 89, 95]) {
      const now = uses.filter((use) => use.from <= at && at < use.to)
      assert.equal(new Set(now.map((use) => `${use.node}/${use.index}`)).size, now.length)
      for (const [job, plan] of plans) {
        assert.equal(now.filter((use) => use.job === job).length, plan.find((share) => share.from <= at && at < share.to)?.workers ?? 0)
      }
    }
    assert.ok(uses.filter((use) => use.job === '1' && use.from === 0 && use.node === 'a').length === 4, 'it stays where it sits')
    assert.deepEqual(sharesOf(uses).get('1'), plans.get('1'))
    assert.equal(blocks(uses.filter((use) => use.job === '3')).reduce((sum, block) => sum + block.count, 0), 4)
  })
  test('ten thousand planned jobs are put onto nodes while one looks', () => {
    const nodes = Array.from({ length: 125 }, (_, i) => ({ name: `n${i}`, slots: 8 }))
    const plans = new Map(Array.from({ length: 10_000 }, (_, i): [string, Share[]] => [`${i}`, [{ from: i * 10, to: i * 10 + 500, workers: 1 + (i % 3) }]]))
    const uses = project(0, nodes, [], plans)
    assert.equal(uses.length, 3334 + 2 * 3333 + 3 * 3333)
  })
  test('a plan shows past, future and which promises would break', () => {
    const timeline: Timeline = {
      from: iso(-100), to: iso(0), truncated: false, use: [],
      uses: [{ job: '1', node: 'a', index: 0, from: iso(-60) }, { job: '1', node: 'a', index: 1, from: iso(-60), to: iso(-30) }],
      jobs: [{ id: '1', name: 'one', tenant: '', class: 'slo', state: 'RUNNING', promised: iso(50) }],
    }
    const future = { at: iso(0), jobs: [{ job: '1', shares: [{ from: iso(0), to: iso(40), workers: 1 }], finish: iso(40) }] }
    const data = planData(timeline, future, [node('a', 2), node('b', 2)], new Map(), { out: new Set(), added: 0 })
    assert.equal(breaks(data.jobs[0]), false)
    assert.equal(nodeBars(data).filter((bar) => bar.isFuture).length, 1)
    const rows = jobRows(data, T - 100_000, T + 100_000)
    assert.deepEqual(jobBars(data, rows).marks, [{ row: 0, at: T + 50_000, isKept: true, from: T + 40_000, label: '10 s to spare' }])
    const pausing = planData(timeline, { at: iso(0), jobs: [{ job: '1', shares: [{ from: iso(2), to: iso(40), workers: 1 }], finish: iso(40) }] }, [node('b', 2), node('a', 2)], new Map(), { out: new Set(), added: 0 })
    assert.deepEqual(pausing.future.map((use) => `${use.node}/${use.index}`), ['a/0'])
    const view = fittingView(data)
    assert.ok(view.from < T && view.to > T + 40_000)

    const reply = { jobs: [{ job: '1', name: 'one', finish_now: iso(40), finish_then: iso(70), met_now: true, met_then: false, shares_now: [], shares_then: [{ from: iso(0), to: iso(70), workers: 1 }], gpu_hours_now: 0, gpu_hours_then: 0, promise_now: 'kept', promise_then: 'broken', refused_then: '' }], hidden_later: 0, hidden_earlier: 0, hidden_broken: 0, deadlines_met_ratio_now: 1, deadlines_met_ratio_then: 0, mean_finish_seconds_now: 40, mean_finish_seconds_then: 70 }
    const changed = planData(timeline, future, [node('a', 2), node('b', 2)], new Map(), { out: new Set(['a']), added: 0, reply })
    assert.ok(breaks(changed.jobs[0]))
    assert.ok(changed.future.every((use) => use.node === 'b'), 'nothing is put on a node that is taken out')
    assert.deepEqual(jobBars(changed, jobRows(changed, T - 100_000, T + 100_000)).marks.map((mark) => [mark.isKept, mark.label]), [[false, '20 s late']])
  })
  test('the decision of a moment is the last until then', () => {
    const decisions = [{ at: iso(0) }, { at: iso(10) }, { at: iso(10) }, { at: iso(20) }]
    assert.deepEqual([-1, 0, 5, 10, 19, 99].map((s) => lastUntil(decisions, T + s * 1000)), [-1, 0, 0, 2, 2, 3])
  })
  test('of a kept past the last moment until the one asked for is shown', () => {
    const states = [{ at: iso(0) }, { at: iso(10) }, { at: iso(20) }]
    assert.deepEqual([-5, 0, 19, 20, 99].map((s) => pastAt(states, iso(s)).at), [iso(0), iso(0), iso(10), iso(20), iso(20)])
    assert.equal(pastAt(states, null).at, iso(20))
  })
  test('addresses lead to pages', () => {
    assert.deepEqual(routeOf('/'), { page: '', argument: '' })
    assert.deepEqual(routeOf('/jobs/42'), { page: 'jobs', argument: '42' })
    assert.deepEqual(routeOf('/jobs/%zz'), { page: 'jobs', argument: '%zz' })
  })
}
