/** Readings R25 and R26 as tables: every plan and status, and the two exceptions. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PlanName, PlanRow, PlanStatus } from '#store/ports/users.ts'
import { effectivePlan, hasApiAccess, hasBrokerageAccess, type PlanSettings } from './plans.ts'

const now = Date.UTC(2026, 10, 20)
const day = 86_400_000
const settings: PlanSettings = { defaultPlan: 'none', brokerageDuringTrial: false }

const row = (plan: PlanName | null, status: PlanStatus, more: Partial<PlanRow> = {}): PlanRow => ({
  plan,
  status,
  legacyUntil: null,
  grandfathered: false,
  ...more,
})

/** Plan, status, API access, brokerage access, brokerage access when trials have it. */
const table: readonly [PlanName, PlanStatus, boolean, boolean, boolean][] = [
  ['developer', 'active', true, false, false],
  ['developer', 'trialing', true, false, false],
  ['developer', 'past_due', true, false, false],
  ['developer', 'canceled', false, false, false],
  ['professional', 'active', true, true, true],
  ['professional', 'trialing', true, false, true],
  ['professional', 'past_due', true, true, true],
  ['professional', 'canceled', false, false, false],
  ['none', 'active', false, false, false],
  ['none', 'trialing', false, false, false],
  ['none', 'past_due', false, false, false],
  ['none', 'canceled', false, false, false],
]

for (const [plan, status, api, brokerage, duringTrial] of table) {
  test(`R25, R26: ${plan} ${status}: API ${api}, brokerage ${brokerage}, in trials too ${duringTrial}`, () => {
    assert.equal(hasApiAccess(row(plan, status), settings, now), api)
    assert.equal(hasBrokerageAccess(row(plan, status), settings), brokerage)
    const open = { ...settings, brokerageDuringTrial: true }
    assert.equal(hasBrokerageAccess(row(plan, status), open), duringTrial)
  })
}

test('R25: a grandfathered account has API access whatever its plan, and no brokerage by that', () => {
  for (const [plan, status] of table) {
    const grandfathered = row(plan, status, { grandfathered: true })
    assert.equal(hasApiAccess(grandfathered, settings, now), true)
  }
  assert.equal(hasBrokerageAccess(row('none', 'active', { grandfathered: true }), settings), false)
})

test('R25: a legacy account has API access until exactly 14 days after its cut-off', () => {
  const legacy = (legacyUntil: number) => row('none', 'canceled', { legacyUntil })
  assert.equal(hasApiAccess(legacy(now + day), settings, now), true)
  assert.equal(hasApiAccess(legacy(now), settings, now), true)
  assert.equal(hasApiAccess(legacy(now - 14 * day + 1), settings, now), true)
  assert.equal(hasApiAccess(legacy(now - 14 * day), settings, now), false)
  assert.equal(hasBrokerageAccess(legacy(now), settings), false)
})

test('a user who has no plan set has the default one, always active', () => {
  for (const defaultPlan of ['none', 'developer', 'professional'] as const) {
    const withDefault = { ...settings, defaultPlan }
    const unset = row(null, 'canceled')
    assert.deepEqual(effectivePlan(unset, withDefault), { plan: defaultPlan, status: 'active' })
    assert.equal(hasApiAccess(unset, withDefault, now), defaultPlan !== 'none')
    assert.equal(hasBrokerageAccess(unset, withDefault), defaultPlan === 'professional')
  }
})

test('a plan that was set to none is not replaced by the default', () => {
  const generous = { ...settings, defaultPlan: 'professional' } as const
  assert.equal(hasApiAccess(row('none', 'active'), generous, now), false)
})
