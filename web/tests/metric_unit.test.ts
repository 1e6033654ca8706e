// Metrics as charts want them: functions that need no browser.
import { candidates, metricRows, overlay, shortNumber, stepAxis, valueAxis, valueSpan } from '../src/metric_data'
import type { JobStatus } from '../src/types'

type Test = (name: string, body: () => void) => void
interface Assert { deepEqual(a: unknown, b: unknown): void; equal(a: unknown, b: unknown): void; ok(value: unknown, message?: string): void }

const job = (id: number, name: string, more = {}) => ({ id: `${id}`, state: 'RUNNING', spec: { name, model: '', kind: '' }, ...more }) as JobStatus

export function run(test: Test, assert: Assert): void {
  test('curves of several jobs share one axis of steps', () => {
    const { steps, lines } = overlay([
      { label: 'a', curve: { steps: [0, 10, 20], values: [3, 'NaN', 1] } },
      { label: 'b', curve: { steps: [5, 10], values: [7, 8] } },
    ])
    assert.deepEqual(steps, [0, 5, 10, 20])
    assert.deepEqual(lines[0].values, [3, null, null, 1])
    assert.deepEqual(lines[1].values, [null, 7, 8, null])
    assert.ok(lines[0].tone !== lines[1].tone && !lines[0].dash && lines[1].dash)
    assert.deepEqual(valueSpan(lines), [1, 8])
    assert.deepEqual(valueSpan(overlay([{ label: 'a', curve: { steps: [1], values: ['NaN'] } }]).lines), undefined)
  })
  test('axes begin and end with round values and hold every value', () => {
    for (const span of [[0.031, 2.3], [-5, -4.2], [0.9, 0.95], [3, 3], [0, 0], [1e-7, 2e-7]] as [number, number][]) {
      const axis = valueAxis(span)
      assert.ok(axis.low <= span[0] && axis.high >= span[1] && axis.low < axis.high, `${span}: ${axis.low} to ${axis.high}`)
    }
    assert.deepEqual([valueAxis([0.031, 2.3]).low, valueAxis([0.031, 2.3]).high], [0, 3])
    assert.ok(stepAxis([7]).high > 7 && stepAxis([]).high > 0)
    assert.ok(stepAxis([0, 3]).ticks(0, 3, 10).every(Number.isInteger))
  })
  test('numbers are short', () => {
    assert.deepEqual([0, 0.123456, 12345.6, 1234567, 0.00012, -2.5].map(shortNumber), ['0', '0.1235', '12350', '1.23e6', '1.2e-4', '-2.5'])
  })
  test('a row tells the last value and the extremes', () => {
    assert.deepEqual(metricRows([{ name: 'loss', steps: [0, 10], values: [2, 0.5] }, { name: 'bad', steps: [1], values: ['NaN'] }]), [
      { name: 'loss', last: '0.5', step: '10', low: '0.5', high: '2' }, { name: 'bad', last: 'not a number', step: '1', low: '–', high: '–' },
    ])
  })
  test('jobs of the same name come first, the job itself and those without metrics never', () => {
    const jobs = [job(1, 'net'), job(2, 'other'), job(3, 'net'), job(4, 'other', { spec: { name: 'x', model: '', kind: 'emulated' } }), job(5, 'net', { state: 'REJECTED' }), job(6, 'other')]
    assert.deepEqual(candidates(jobs, jobs[2], []).map((each) => each.id), ['1', '6', '2'])
    assert.deepEqual(candidates(jobs, jobs[2], ['6']).map((each) => each.id), ['1', '2'])
  })
}
