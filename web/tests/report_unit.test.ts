// The functions of reports that need no browser.
import { linearTicks, logTicks, niceStep, secondsText, timeTexts } from '../src/axes'
import { rowTops, viewWithin } from '../src/gantt_draw'
import { aimOf, pointsOf } from '../src/report/aims'
import { heldOf, isKept, outcomeOf, promisesOf, shareAt, type Column, type Group, type Pictures, type Run } from '../src/report/data'
import { barsOf, findJob, nodeRows } from '../src/report/gpus'
import { inOrderOfStart } from '../src/report/jobs'
import { histogram } from '../src/report/promises'
import { dashOf, toneOf } from '../src/report/series'
import { sortedRows } from '../src/report/table'

type Test = (name: string, body: () => void) => void
interface Assert { deepEqual(a: unknown, b: unknown): void; equal(a: unknown, b: unknown): void; ok(value: unknown, message?: string): void }

const run1: Run = {
  policy: 'p', row: 0, jct: [[10, 20], [0.5, 1]], slowdown: [[], []], used: [], due: [], met: [], start: [0, 5, 7], finish: [60, 95, -1], promised: [80, 90, 99], resizes: [0, 1, 0],
  rects: [0, 0, 40, 2, 4, 0, 40, 20, 0, 1, 1, 0, 60, 7, 1], left_out: 0,
}
const pictures: Pictures = {
  tick: 0.5, span: 100, gpus: 8, nodes: [['a', 0, 4], ['b', 4, 4]],
  jobs: { name: ['First', 'second', 'first-two'], class: [0, 0, 2], arrival: [0, 0, 0], deadline: [80, 90, 50] }, runs: [run1],
}
const column = (group: string, title: string, better = 1): Column => ({ group, title, unit: '', meaning: '', better })
const row = (policy: string, ...values: (number | null)[]) => ({ policy, cells: values.map((value) => (value === null ? null : { value, text: String(value) })) })

export function run(test: Test, assert: Assert): void {
  test('marks of an axis are round, few and in one unit', () => {
    assert.equal(niceStep(7, 5), 2)
    assert.deepEqual(linearTicks(0, 90, 4, true), [0, 30, 60, 90])
    assert.deepEqual(timeTexts([0, 1800, 3600, 5400]), ['0', '0.5 h', '1 h', '1.5 h'])
    assert.deepEqual(timeTexts([0, 600, 1200]), ['0', '10 min', '20 min'])
    assert.deepEqual([0, 0.25, 90, 10_080, 400_000].map(secondsText), ['0 s', '250 ms', '1.5 min', '2.8 h', '4.63 d'])
    for (const [low, high] of [[1, 2], [0.9, 30], [50, 2e6], [1e-3, 1e8]]) {
      for (const isTime of [false, true]) {
        const ticks = logTicks(low, high, 8, isTime)
        assert.ok(ticks.length > 0 && ticks.every((tick) => tick >= low && tick <= high), `${low} ${high}`)
        assert.ok(ticks.length <= 12, `${low} ${high}: ${ticks.length}`)
      }
    }
  })
  test('a view is moved inside its limits before it is made shorter', () => {
    const limits = { from: 0, to: 100 }
    assert.deepEqual(viewWithin({ from: -10, to: 30 }, limits), { from: 0, to: 40 })
    assert.deepEqual(viewWithin({ from: 80, to: 130 }, limits), { from: 50, to: 100 })
    assert.deepEqual(viewWithin({ from: -50, to: 250 }, limits), limits)
  })
  test('a distribution says what share is not above a value', () => {
    assert.deepEqual([9, 10, 19.9, 20, 99].map((value) => shareAt(run1.jct, value)), [0, 0.5, 0.5, 1, 1])
  })
  test('what became of a deadline, and of a promise', () => {
    assert.deepEqual([0, 1, 2, 3].map((job) => outcomeOf(pictures, run1, job)), ['met', 'missed', 'free', 'free'])
    const promises = promisesOf(pictures, run1)
    assert.deepEqual(promises.map((each) => each.slack), [10, -2.5, null])
    assert.deepEqual(promises.map(isKept), [true, false, false])
  })
  test('slacks are counted in steps that never mix early and late', () => {
    const { step, from, counts } = histogram([-30, -1, 0, 5, 700])
    assert.equal(counts.reduce((a, b) => a + b), 5)
    assert.equal(counts[from.indexOf(0)], 2)
    assert.equal(from.filter((each, i) => each < 0 && counts[i] > 0).length, 1)
    assert.ok(from[0] <= -30 && from[from.length - 1] + step > 700)
  })
  test('GPUs of the cluster become lanes of nodes, over several nodes as one bar', () => {
    assert.deepEqual(heldOf(run1)[1], { job: 0, from: 40, to: 60, first: 0, count: 1 })
    const bars = barsOf(pictures, heldOf(run1))
    assert.deepEqual(bars.map(({ row: at, lane, from, to, until }) => [at, lane, from, to, until]), [[0, 2, 0, 20, { row: 1, lane: 2 }], [0, 0, 20, 30, undefined], [1, 3, 20, 50, undefined]])
    assert.deepEqual([bars[1].lanes, bars[2].lanes], [1, 1])
    const sparse = { ...pictures, nodes: [['a', 0, 4], ['c', 8, 4]] as Pictures['nodes'] }
    const held = (first: number, count: number) => [{ job: 0, from: 0, to: 1, first, count }]
    assert.deepEqual(barsOf(sparse, held(5, 2)), [])
    assert.deepEqual(barsOf(sparse, held(5, 4)).map((bar) => [bar.row, bar.lane, bar.lanes]), [[1, 0, 1]])
    assert.deepEqual(barsOf(sparse, held(2, 4)).map((bar) => [bar.row, bar.lane, bar.lanes]), [[0, 2, 2]])
  })
  test('as many nodes as there is room for are seen at once', () => {
    for (const count of [1, 8, 64, 500]) {
      const { rows, gap } = nodeRows(Array.from({ length: count }, (_, i) => [`n${i}`, 8 * i, 8]), false)
      assert.ok(rowTops(rows, gap)[count] <= 540, `${count}`)
      assert.ok(rows[0].label)
      assert.ok(rows.filter((each) => each.label).length <= 40)
    }
    assert.equal(nodeRows([['n', 0, 8]], true).rows[0].height, 128)
  })
  test('a job is found by its name, or by a part of it', () => {
    assert.deepEqual(['first', 'SECOND', 'two', 'none', ' '].map((text) => findJob(pictures.jobs.name, text)), [0, 1, 2, -1, -1])
  })
  test('jobs stand in the order in which they first ran, those that never did last', () => {
    assert.deepEqual(inOrderOfStart(pictures, { ...run1, start: [7, -1, 3] }), [2, 0, 1])
    assert.deepEqual(inOrderOfStart({ ...pictures, jobs: { ...pictures.jobs, arrival: [9, 5, 7] } }, { ...run1, start: [-1, -1, -1] }), [1, 2, 0])
  })
  test('rows are sorted with the unknown last, and stay as they were where equal', () => {
    const rows = [row('b', 2), row('a', null), row('c', 1), row('d', 2)]
    const names = (order: 'ascending' | 'descending', at = 0) => sortedRows(rows, { column: at, order }).map((each) => each.row.policy).join('')
    assert.equal(names('ascending'), 'cbda')
    assert.equal(names('descending'), 'bdca')
    assert.equal(names('ascending', -1), 'abcd')
    assert.deepEqual(sortedRows(rows).map((each) => each.index), [0, 1, 2, 3])
  })
  test('in front are the policies than which none is better in both', () => {
    const group: Group = { title: '', trace: '', noise: 0, relative: false, rows: [row('slow', 9, 0.9), row('fast', 1, 0.5), row('worse', 9, 0.5), row('none', null, 1), row('far', 0.5, 1)] }
    group.rows[4].cells[0]!.apart = true
    const points = pointsOf(group, 0, 1)
    assert.deepEqual(points.filter((point) => point.isFront).map((point) => point.policy), ['fast', 'slow'])
    assert.equal(points.length, 4)
    assert.equal(aimOf([column('JCT', 'avg'), column('rho', 'fair'), column('value', 'got')]), 2)
  })
  test('no two policies of the first thirty-two look the same', () => {
    const looks = Array.from({ length: 32 }, (_, i) => `${toneOf(i)} ${dashOf(i)}`)
    assert.equal(new Set(looks).size, 32)
  })
}
