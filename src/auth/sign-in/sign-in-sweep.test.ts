/** What the sweep keeps of the audit: for how long, and how many of each user. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AuditAction, refusedSignIn, signedIn, signedOut } from '#contract/audit.ts'
import { newId, type UserId } from '#kernel/ids.ts'
import { openSqliteStore } from '#tests/contract/store/place.ts'
import { now } from '#tests/contract/store/rows.ts'
import { factsFor } from '#tests/support/audit-samples.ts'
import { makeSignInSweep } from './sign-in-sweep.ts'

const day = 86_400_000
const actor = { kind: 'visitor', address: '192.0.2.1' } as const

test('refusals are kept for 90 days, sign-ins and sign-outs for a year, of each user the newest 500', async (t) => {
  const store = await openSqliteStore(t)
  const [mine, busy] = [newId<UserId>(), newId<UserId>()]
  const write = (userId: UserId, action: AuditAction, at: number) =>
    store.audit({ at, actor, userId, ...factsFor(action) })
  const ages = [
    [refusedSignIn, 90],
    [signedIn, 365],
    [signedOut, 365],
  ] as const
  for (const [action, days] of ages) {
    await write(mine, action, now - days * day)
    await write(mine, action, now - days * day - 1)
  }
  await store.transact(async (tx) => {
    for (let count = 0; count < 502; count += 1) {
      const facts = factsFor(count % 2 === 0 ? signedIn : signedOut)
      await tx.audit({ actor, userId: busy, at: now - count, ...facts })
    }
  })
  const sessions = { sweep: async () => 0 }
  const task = makeSignInSweep({ sessions, store, clock: { now: () => now } })
  await task.run(new AbortController().signal)
  const left = await store.auditLog.list({ userId: mine, after: null, limit: 1000 })
  assert.deepEqual(left.map(({ at, action }) => [action, (now - at) / day]).sort(), [
    [refusedSignIn, 90],
    [signedIn, 365],
    [signedOut, 365],
  ])
  const newest = await store.auditLog.list({ userId: busy, after: null, limit: 1000 })
  assert.equal(newest.length, 500)
  assert.equal(newest.at(-1)?.at, now - 499)
})
