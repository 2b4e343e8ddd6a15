import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { HealthChange } from '#store/ports/endpoints.ts'
import {
  findHealthWarnings,
  type HealthSignal,
  nextHealth,
  type Warning,
  wellAgain,
} from './health.ts'

const day = 86_400_000
const start = Date.UTC(2026, 10, 20)

/** The final health of a healthy endpoint, and the warnings that its owner gets. */
function live(
  signals: readonly (readonly [number, HealthSignal])[],
  from: HealthChange = wellAgain,
) {
  const warnings: Warning[] = []
  let now = from
  for (const [at, signal] of signals) {
    const next = nextHealth(now, signal, at)
    warnings.push(...findHealthWarnings(now, next))
    now = next
  }
  return { ...now, warnings }
}

const failures = (count: number, stepMs: number) =>
  Array.from({ length: count }, (_, index) => [start + index * stepMs, 'failed'] as const)

test('one failure degrades an endpoint, five in a row pause it', () => {
  const states = [1, 2, 3, 4, 5, 6].map((count) => live(failures(count, 1000)).health)
  assert.deepEqual(states, ['degraded', 'degraded', 'degraded', 'degraded', 'paused', 'paused'])
})

test('one success makes it healthy, whatever was before', () => {
  for (const count of [1, 5, 30]) {
    const { warnings: _, ...after } = live([...failures(count, 60_000), [start + day, 'succeeded']])
    assert.deepEqual(after, wellAgain)
  }
})

test('failures with a success between them are not consecutive', () => {
  const after = live([...failures(4, 1), [start, 'succeeded'], ...failures(4, 1)])
  assert.equal(after.health, 'degraded')
  assert.equal(after.failures, 4)
})

test('the owner is warned after one, three and five days of failures, once each, and then the endpoint is disabled', () => {
  const after = live(failures(200, 3_600_000))
  assert.equal(after.health, 'disabled')
  assert.equal(after.disabledReason, 'failing')
  assert.equal(after.failures, 121)
  assert.deepEqual(after.warnings, [
    { kind: 'failing', days: 1 },
    { kind: 'failing', days: 3 },
    { kind: 'failing', days: 5 },
    { kind: 'disabled', reason: 'failing' },
  ])
})

test('two failures a week apart disable nothing: five in a row are needed', () => {
  const after = live(failures(4, 7 * day))
  assert.equal(after.health, 'degraded')
  assert.equal(live(failures(5, 7 * day)).health, 'disabled')
})

test('410 disables at once, and the owner is warned', () => {
  const after = live([[start, 'gone']])
  assert.equal(after.health, 'disabled')
  assert.equal(after.disabledReason, 'gone')
  assert.deepEqual(after.warnings, [{ kind: 'disabled', reason: 'gone' }])
})

test('an endpoint that its owner disabled stays disabled, whatever the result of an attempt in flight', () => {
  const disabled: HealthChange = { ...wellAgain, health: 'disabled', disabledReason: 'owner' }
  for (const signal of ['succeeded', 'failed', 'answered', 'gone'] as const) {
    const { warnings, ...after } = live([[start, signal]], disabled)
    assert.deepEqual(after, disabled)
    assert.deepEqual(warnings, [])
  }
})

test('an endpoint that answers and wants no more of one delivery is neither better nor worse for it', () => {
  const { warnings: _, ...before } = live(failures(3, 1000))
  const { warnings: __, ...after } = live([[start + day, 'answered']], before)
  assert.deepEqual(after, before)
})

test('a clock that is set back starts the time of failures anew, and one that jumps ahead disables no endpoint at its first failure', () => {
  const back = live([...failures(5, 1000), [start - 10 * day, 'failed']])
  assert.equal(back.health, 'paused')
  assert.equal(back.failingSince, start - 10 * day)
  assert.equal(
    live([
      [start, 'failed'],
      [start + 400 * day, 'failed'],
    ]).health,
    'degraded',
  )
})

test('for any sequence of attempts, health follows from the failures and their times, and no warning is repeated', () => {
  const signal = fc.constantFrom<HealthSignal>(
    'succeeded',
    'failed',
    'failed',
    'failed',
    'answered',
  )
  const step = fc.tuple(fc.integer({ min: -day, max: 2 * day }), signal)
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      let at = start
      let now = wellAgain
      let told = 0
      for (const [ms, one] of steps) {
        at += ms
        const next = nextHealth(now, one, at)
        if (next.failures === 0) told = 0
        for (const warning of findHealthWarnings(now, next)) {
          if (warning.kind !== 'failing') continue
          assert.ok(warning.days > told)
          told = warning.days
        }
        assert.equal(next.health === 'healthy', next.failures === 0 && next.failingSince === null)
        if (next.health === 'degraded') assert.ok(next.failures < 5)
        if (next.health === 'paused') assert.ok(next.failures >= 5)
        now = next
      }
    }),
  )
})
