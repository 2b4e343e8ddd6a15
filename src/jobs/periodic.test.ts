import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type PeriodicTask, startPeriodic } from './periodic.ts'

const settle = () => new Promise((resolve) => setImmediate(resolve))

/** A task whose runs the test ends, on timers that the test controls. */
function openStage(t: TestContext, options: Partial<PeriodicTask> = {}, random = () => 0) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const runs: (PromiseWithResolvers<void> & { readonly stop: AbortSignal })[] = []
  const told: string[] = []
  const task: PeriodicTask = {
    name: 'sweep',
    everyMs: 1000,
    firstRun: 'at_once',
    run(stop) {
      const run = { ...Promise.withResolvers<void>(), stop }
      runs.push(run)
      return run.promise
    },
    ...options,
  }
  const report = {
    done: (name: string) => void told.push(`${name} done`),
    failed: (name: string, error: unknown) => void told.push(`${name} failed: ${String(error)}`),
  }
  const job = startPeriodic(task, report, random)
  return {
    job,
    runs,
    told,
    async end(error?: Error) {
      const run = runs.at(-1)
      if (error === undefined) run?.resolve()
      else run?.reject(error)
      await settle()
    },
    pass: (ms: number) => t.mock.timers.tick(ms),
  }
}

test('a task runs at once, and again when its wait after the run is over', async (t) => {
  const { runs, told, end, pass } = openStage(t)
  assert.equal(runs.length, 1)
  await end()
  assert.deepEqual(told, ['sweep done'])
  pass(999)
  assert.equal(runs.length, 1)
  pass(1)
  assert.equal(runs.length, 2)
})

test('a task that has nothing to do at the start waits first', (t) => {
  const { runs, pass } = openStage(t, { firstRun: 'after_wait' })
  assert.equal(runs.length, 0)
  pass(1000)
  assert.equal(runs.length, 1)
})

test('a run that takes longer than the wait is never overlapped', async (t) => {
  const { runs, end, pass } = openStage(t)
  pass(10_000)
  assert.equal(runs.length, 1)
  await end()
  pass(1000)
  assert.equal(runs.length, 2)
})

test('jitter makes the wait shorter by a tenth at the most, never longer', async (t) => {
  const { runs, end, pass } = openStage(t, {}, () => 0.999_999)
  await end()
  pass(899)
  assert.equal(runs.length, 1)
  pass(2)
  assert.equal(runs.length, 2)
})

test('a failed run is reported, and the next one follows', async (t) => {
  const { runs, told, end, pass } = openStage(t)
  await end(new Error('the store is unavailable'))
  assert.deepEqual(told, ['sweep failed: Error: the store is unavailable'])
  pass(1000)
  assert.equal(runs.length, 2)
})

test('a task that throws before it waits is reported like any other', async (t) => {
  const { told } = openStage(t, {
    run() {
      throw new Error('no promise')
    },
  })
  await settle()
  assert.deepEqual(told, ['sweep failed: Error: no promise'])
})

test('stop aborts the signal of the current run, waits for its end and starts no other', async (t) => {
  const { job, runs, end, pass } = openStage(t)
  let isStopped = false
  const stopping = job.stop().then(() => {
    isStopped = true
  })
  await settle()
  assert.equal(runs[0]?.stop.aborted, true)
  assert.equal(isStopped, false)
  await end()
  await stopping
  pass(10_000)
  assert.equal(runs.length, 1)
})

test('stop between two runs ends the wait', async (t) => {
  const { job, runs, end, pass } = openStage(t)
  await end()
  await job.stop()
  pass(10_000)
  assert.equal(runs.length, 1)
})

test('a task that is woken runs at once and not again before its wait', async (t) => {
  const { job, runs, end, pass } = openStage(t, { firstRun: 'after_wait' })
  job.wake()
  assert.equal(runs.length, 1)
  await end()
  pass(999)
  assert.equal(runs.length, 1)
  pass(1)
  assert.equal(runs.length, 2)
})

test('a task that is woken while it runs runs once more, however often it was woken', async (t) => {
  const { job, runs, end } = openStage(t)
  job.wake()
  job.wake()
  assert.equal(runs.length, 1)
  await end()
  assert.equal(runs.length, 2)
  await end()
  assert.equal(runs.length, 2)
})

test('after a failed run the task waits, even if it was woken during the run', async (t) => {
  const { job, runs, end, pass } = openStage(t)
  job.wake()
  await end(new Error('the store is unavailable'))
  assert.equal(runs.length, 1)
  pass(1000)
  assert.equal(runs.length, 2)
})

test('a task that waits after a failure is not woken before the wait is over, and no run is reported meanwhile', async (t) => {
  const { job, runs, told, end, pass } = openStage(t, { restMs: 5000 })
  await end(new Error('the store is unavailable'))
  job.wake()
  pass(4999)
  assert.equal(runs.length, 1)
  assert.equal(told.length, 1)
  pass(1)
  assert.equal(runs.length, 2)
  await end()
  job.wake()
  assert.equal(runs.length, 3)
})

test('a task that is stopped cannot be woken', async (t) => {
  const { job, runs, end } = openStage(t)
  job.wake()
  const stopping = job.stop()
  await end()
  await stopping
  job.wake()
  assert.equal(runs.length, 1)
})
