/**
 * A page whose list has a largest length says so once the list is that long. For agents it is tested in
 * `tests/request/pages/agents.test.ts`.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { invitationsListed } from '#auth/sign-in/single-use.ts'
import { mostReaders } from '#usage/limits-left.ts'
import { renderInvitations } from './operator/invitations-page.ts'
import { renderLimits } from './usage/limits.ts'
import { deliveriesCounted, renderHours } from './webhooks/hours.ts'

const now = Date.UTC(2026, 10, 21, 2)

/** The page with one row less than it has at most, and with as many. */
const around = (most: number, render: (count: number) => unknown) => {
  return [String(render(most - 1)), String(render(most))] as const
}
const many = <Row>(count: number, row: Row): readonly Row[] =>
  Array.from({ length: count }, () => row)

test('the page of open invitations says when it shows the newest alone', () => {
  const at = new Date(now).toISOString()
  const invitation = { email: 'guest@example.test', createdAt: at, expiresAt: at }
  const rest = { formToken: '', done: null, made: null, email: '', problem: null }
  const [whole, cut] = around(invitationsListed, (count) =>
    renderInvitations({ invitations: many(count, invitation), ...rest }),
  )
  assert.doesNotMatch(whole, /the newest 1000/)
  assert.match(cut, /These are the newest 1000\. Older ones, if there are any/)
})

test('the limits of keys and agents say when they may not be all', () => {
  const left = { cheap: null, mid: null, heavy: null }
  const perMinute = { cheap: 60, mid: 30, heavy: 0 }
  const [whole, cut] = around(mostReaders, (count) =>
    renderLimits({
      ...{ perMinute, atOnce: 0, providers: [] },
      readers: many(count, { kind: 'agent', name: 'Claude', left }),
    }),
  )
  assert.doesNotMatch(whole, /At most 40 are shown/)
  assert.match(cut, /At most 40 are shown: keys first, then the newest agents/)
})

test('the attempts of a day say so where those of older deliveries are not counted, however many there are', () => {
  const attempt = { at: now - 1, isFailed: false, durationMs: 5 }
  const show = (count: number, isCut: boolean) =>
    String(renderHours({ attempts: many(count, attempt), isCut }, { zone: 'UTC', now }))
  assert.equal(deliveriesCounted, 5000)
  assert.match(show(5200, false), /<figcaption>5,200 attempts in the last 24 hours, 0 failed/)
  assert.match(
    show(1, true),
    /<figcaption>1 attempt in the last 24 hours, counted for the newest 5,000 deliveries alone, 0 failed/,
  )
  assert.equal(renderHours({ attempts: [], isCut: false }, { zone: 'UTC', now }), null)
  assert.match(
    show(0, true),
    /^<p>None of the newest 5,000 deliveries was attempted in the last 24 hours\.<\/p>$/,
  )
})
