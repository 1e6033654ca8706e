// The functions behind the scale dialog and the sparkline.
import { LastQuestion, type Asked } from '../src/last_question'
import { deltaOf, gpuTimeText, limitsOf, moveOf } from '../src/scale_delta'
import { sparkOf } from '../src/sparkline'
import type { WhatIfJob, WhatIfReply } from '../src/types'

type Test = (name: string, body: () => void | Promise<void>) => void
interface Assert { deepEqual(a: unknown, b: unknown): void; equal(a: unknown, b: unknown): void; ok(value: unknown, message?: string): void }

const T = Date.parse('2030-01-01T12:00:00Z')
const iso = (seconds: number) => new Date(T + seconds * 1000).toISOString()
const share = (from: number, to: number, workers: number) => ({ from: iso(from), to: iso(to), workers })

const played = (job: string, move: number, more: Partial<WhatIfJob> = {}): WhatIfJob => ({
  job, name: `job-${job}`, finish_now: iso(100), finish_then: iso(100 + move), met_now: true, met_then: true, shares_now: [], shares_then: [],
  gpu_hours_now: 1, gpu_hours_then: 1, promise_now: '', promise_then: '', refused_then: '', ...more,
})
const reply = (jobs: WhatIfJob[], more: Partial<WhatIfReply> = {}): WhatIfReply => ({
  jobs, deadlines_met_ratio_now: 1, deadlines_met_ratio_then: 1, mean_finish_seconds_now: 0, mean_finish_seconds_then: 0,
  hidden_later: 0, hidden_earlier: 0, hidden_broken: 0, ...more,
})

/** Answers when told to, and counts what it was asked. */
function platform() {
  const asked: { question: number; answer: (text: string) => void; fail: () => void }[] = []
  const ask = (question: number) => new Promise<string>((answer, refuse) => asked.push({ question, answer, fail: () => refuse(new Error('no')) }))
  return { asked, ask }
}
const last = <A>(all: A[]) => all[all.length - 1]
const settled = () => new Promise((resolve) => setTimeout(resolve, 15))

export function run(test: Test, assert: Assert): void {
  test('limits are whole numbers in order, and an empty field is none', () => {
    assert.deepEqual(limitsOf('', ' 8 '), { limits: { min: 0, max: 8 } })
    assert.deepEqual(limitsOf('2', ''), { limits: { min: 2, max: 0 } })
    for (const [min, max, field] of [['two', '', 'min'], ['', '-1', 'max'], ['0', '', 'min'], ['1.5', '', 'min'], ['', '70000', 'max'], ['8', '2', 'max']]) {
      assert.equal(limitsOf(min, max).problem?.field, field)
      assert.equal(limitsOf(min, max).limits, undefined)
    }
  })
  test('a delta has the job apart, the hurt with broken promises first, and those without a name', () => {
    const broken = { promise_now: 'kept', promise_then: 'broken' }
    const delta = deltaOf(reply([played('1', 50), played('2', 10), played('3', 5, broken), played('4', -9), played('5', 1)], { hidden_later: 2, hidden_broken: 1 }), '1')
    assert.equal(delta.job?.job, '1')
    assert.deepEqual(delta.hurt.map((each) => each.job), ['3', '2'])
    assert.deepEqual([delta.later, delta.earlier, delta.broken, delta.hidden], [4, 1, 2, 2])
    assert.equal(moveOf(played('1', 0, { finish_then: undefined })), Infinity)
    assert.equal(moveOf(played('1', 1)), 0)
    assert.deepEqual([0.2, 1.5, -12.4].map(gpuTimeText), ['12 GPU-minutes', '1.5 GPU-hours', '12 GPU-hours'])
  })
  test('of many questions in a row one is asked', async () => {
    const { asked, ask } = platform()
    const told: Asked<string>[] = []
    const line = new LastQuestion(ask, (each) => told.push(each), 5)
    for (let i = 0; i < 20; i++) line.put(i)
    await settled()
    assert.deepEqual(asked.map((each) => each.question), [19])
    asked[0].answer('19')
    await settled()
    assert.deepEqual(last(told), { answer: '19', isAsking: false })
  })
  test('while one is played no other is asked, and a late answer is not told', async () => {
    const { asked, ask } = platform()
    const told: Asked<string>[] = []
    const line = new LastQuestion(ask, (each) => told.push(each), 1)
    line.put(1)
    await settled()
    line.put(2)
    await settled()
    line.put(3)
    await settled()
    assert.deepEqual(asked.map((each) => each.question), [1])
    asked[0].answer('stale')
    await settled()
    assert.deepEqual(asked.map((each) => each.question), [1, 3])
    assert.ok(told.every((each) => each.answer !== 'stale'))
    asked[1].fail()
    await settled()
    assert.equal(last(told).error?.message, 'no')
    line.put(undefined)
    assert.deepEqual(last(told), { isAsking: false })
    line.put(4)
    line.close()
    await settled()
    assert.equal(asked.length, 2)
  })
  test('without a plan the past is drawn and the present goes on, said not to be planned', () => {
    const spark = sparkOf({ plan: [], past: [share(-60, -20, 2), share(-20, 0, 8)], now: T, workers: 8, width: 90 })
    assert.equal(spark.isPlanned, false)
    assert.equal(spark.planned, '')
    assert.equal(spark.words, 'was 2; 8 workers now; not planned')
    assert.ok((spark.past.match(/V/g) ?? []).length >= 2, spark.past)
    const [, from, y, to] = /^M([\d.]+) ([\d.]+)H([\d.]+)$/.exec(spark.goesOn)!
    assert.equal(Number(y), spark.now.y)
    assert.ok(Number(from) > spark.now.x && Number(to) === 90, spark.goesOn)
    assert.ok(spark.now.x > 20 && spark.now.x < 45, 'the present stands between past and future')
  })
  test('with a plan the future is what is planned', () => {
    const spark = sparkOf({ plan: [share(-5, 30, 4), share(30, 60, 1)], past: [share(-60, 0, 4)], now: T, workers: 4, width: 90 })
    assert.deepEqual([spark.isPlanned, spark.goesOn], [true, ''])
    assert.equal(spark.words, '4 workers now; planned 4, then 1')
    assert.ok(spark.planned.endsWith('H88'), spark.planned)
    assert.equal(sparkOf({ plan: [], now: T, workers: 0, width: 90 }).past, '')
  })
}
