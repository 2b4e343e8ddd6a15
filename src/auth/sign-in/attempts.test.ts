/** How often a password may be guessed, per address, per account and per browser. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openMemoryKv } from '#fast/memory.ts'
import type { WindowKey } from '#fast/port.ts'
import { newId, type UserId } from '#kernel/ids.ts'
import { makeAttempts, type Subject } from './attempts.ts'

const second = 1000
const minute = 60 * second
const day = 24 * 60 * minute

function open(t: TestContext, perAddress = 30) {
  let now = Date.UTC(2026, 10, 22)
  const clock = { now: () => now }
  const kv = openMemoryKv({ clock, cacheMaxBytes: 1000, cacheMaxEntryBytes: 1000 })
  t.after(() => kv.close())
  const taken = new Set<string>()
  const windows = {
    ...kv.windows,
    take(key: WindowKey, limit: number, windowMs: number) {
      taken.add(key)
      return kv.windows.take(key, limit, windowMs)
    },
  }
  const attempts = makeAttempts({ windows, perAddress, secret: new Uint8Array(32) })
  return {
    attempts,
    taken,
    pass: (ms: number) => {
      now += ms
    },
    /** One wrong password; the seconds to wait when it was refused without a check, else 0. */
    async fail(subject: Subject): Promise<number> {
      const attempt = await attempts.begin(subject)
      return attempt.allowed ? 0 : attempt.retryAfterSeconds
    },
    async succeed(subject: Subject): Promise<void> {
      const attempt = await attempts.begin(subject)
      assert(attempt.allowed)
      await attempt.succeed()
    },
  }
}

const account = (userId = newId<UserId>()): Subject => ({ kind: 'account', userId })
const stranger = (email: string): Subject => ({ kind: 'stranger', email })

for (const [name, subject] of [
  ['an account', account()],
  ['a browser', { kind: 'browser', userId: newId<UserId>(), browser: 'one' }],
  ['an address without an account', stranger('nobody@example.com')],
] as const satisfies readonly (readonly [string, Subject])[]) {
  test(`${name} may fail ten times, then once more each minute`, async (t) => {
    const { fail, pass } = open(t)
    for (let count = 0; count < 10; count += 1) assert.equal(await fail(subject), 0, `${count}`)
    assert.equal(await fail(subject), 60)
    pass(59 * second)
    assert.equal(await fail(subject), 1)
    pass(second)
    assert.equal(await fail(subject), 0)
    assert.equal(await fail(subject), 60)
    pass(minute)
    assert.equal(await fail(subject), 0)
  })

  test(`${name} may fail a hundred times a day, whatever is tried in between`, async (t) => {
    const { fail, pass } = open(t)
    let looked = 0
    for (let step = 0; step < 10_000; step += 1) {
      if ((await fail(subject)) === 0) looked += 1
      if (step >= 100) pass(5 * second)
    }
    assert.equal(looked, 100)
    assert.ok((await fail(subject)) > 3600, 'until the day is over')
    pass(day)
    assert.equal(await fail(subject), 0)
  })
}

test('the right password clears the failures of its own subject only', async (t) => {
  const { fail, succeed } = open(t)
  const userId = newId<UserId>()
  const own: Subject = { kind: 'browser', userId, browser: 'one' }
  for (let count = 0; count < 10; count += 1) await fail(account(userId))
  for (let count = 0; count < 9; count += 1) await fail(own)
  await succeed(own)
  for (let count = 0; count < 10; count += 1) assert.equal(await fail(own), 0)
  assert.equal(await fail(account(userId)), 60, 'whoever guesses elsewhere still waits')
})

test('concurrent guesses cannot exceed the limit', async (t) => {
  const { fail } = open(t)
  const subject = account()
  const waits = await Promise.all(Array.from({ length: 50 }, () => fail(subject)))
  assert.equal(waits.filter((wait) => wait === 0).length, 10)
})

test('an unchecked attempt is withdrawn, even when one attempt per minute is allowed', async (t) => {
  const { attempts, fail } = open(t)
  const subject = account()
  for (let count = 0; count < 30; count += 1) {
    const attempt = await attempts.begin(subject)
    assert(attempt.allowed)
    await attempt.withdraw()
  }
  for (let count = 0; count < 9; count += 1) assert.equal(await fail(subject), 0)
  const tenth = await attempts.begin(subject)
  assert(tenth.allowed)
  await tenth.withdraw()
  assert.equal(await fail(subject), 0)
  assert.equal(await fail(subject), 60)
})

test('a new password by the operator lets the owner in at once', async (t) => {
  const { attempts, fail } = open(t)
  const userId = newId<UserId>()
  for (let count = 0; count < 11; count += 1) await fail(account(userId))
  await attempts.forgive({ kind: 'account', userId })
  assert.equal(await fail(account(userId)), 0)
})

test('codes have a count of their own, which nothing switches off and no right password clears', async (t) => {
  const { attempts, fail, succeed } = open(t, 0)
  const userId = newId<UserId>()
  const code: Subject = { kind: 'code', userId, isKnown: false }
  for (let count = 0; count < 30; count += 1) assert.equal(await fail(account(userId)), 0)
  for (let count = 0; count < 10; count += 1) assert.equal(await fail(code), 0)
  assert.equal(await fail(code), 60)
  await succeed(account(userId))
  await attempts.forgive({ kind: 'account', userId })
  assert.equal(await fail(code), 60)
  assert.equal(await fail({ ...code, isKnown: true }), 0, 'the owner’s browsers')
})

test('an address is counted by its /64, in IPv4 form where it is one', async (t) => {
  const { attempts } = open(t, 2)
  assert.equal(await attempts.ofAddress('2001:db8::1'), null)
  assert.equal(await attempts.ofAddress('2001:db8::ffff:1'), null)
  assert.equal(await attempts.ofAddress('2001:db8::2'), 60)
  assert.equal(await attempts.ofAddress('2001:db8:0:1::2'), null)
  for (const text of ['203.0.113.7', '::ffff:203.0.113.7']) await attempts.ofAddress(text)
  assert.equal(await attempts.ofAddress('::ffff:cb00:7107'), 60)
})

test('addresses without an account share a bounded number of counters, one for all spellings', async (t) => {
  const { attempts, taken, fail } = open(t)
  for (let count = 0; count < 60_000; count += 1) {
    await attempts.begin(stranger(`invented-${count}@example.com`))
  }
  const slots = [...taken].filter((key) => key.startsWith('stranger:'))
  assert.ok(slots.length <= 16_384, `${slots.length}`)
  const spelled = ['zo\u00eb@example.org', 'ZOE\u0308@EXAMPLE.ORG']
  for (let count = 0; count < 10; count += 1) await fail(stranger(spelled[count % 2] ?? ''))
  assert.ok((await fail(stranger('zo\u00eb@example.org'))) > 0)
})

test('a limit of 0 is none', async (t) => {
  const { attempts, fail } = open(t, 0)
  const subject = account()
  for (let count = 0; count < 200; count += 1) {
    assert.equal(await attempts.ofAddress('203.0.113.7'), null)
    assert.equal(await fail(subject), 0)
  }
})
