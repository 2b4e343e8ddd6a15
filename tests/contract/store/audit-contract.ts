/**
 * The audit as operators read it, the sweep of entries that unauthenticated visitors cause; users page by
 * page.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Actor } from '#contract/actor.ts'
import { type AuditAction, refusedSignIn, signedIn, signedOut } from '#contract/audit.ts'
import { newId, type SessionId, type UserId } from '#kernel/ids.ts'
import type { AuditEntry, AuditRow } from '#store/ports/audit.ts'
import type { UserRow } from '#store/ports/users.ts'
import { auditSamples, factsFor, sampleUser } from '#tests/support/audit-samples.ts'
import type { Place, StoreOf } from './place.ts'
import { addUser, now } from './rows.ts'

export function testAudit(store: StoreOf): void {
  const write = (userId: UserId | null, at: number, action: AuditAction = refusedSignIn) =>
    store().audit({
      at,
      actor: { kind: 'visitor', address: '192.0.2.1' },
      userId,
      ...factsFor(action),
    })
  const all = (userId: UserId | null) => store().auditLog.list({ userId, after: null, limit: 1000 })
  const kept = { before: 0, ofUser: 1000, ofNobody: 1000, limit: 1000 }

  test('entries are read newest first, page by page, each exactly once, also those of one instant', async () => {
    const [mine, other] = [newId<UserId>(), newId<UserId>()]
    for (const at of [now, now + 5, now + 5, now + 5, now + 9]) await write(mine, at, 'keys.create')
    await write(other, now + 6, 'keys.revoke')
    const read: AuditRow[] = []
    for (let pages = 0; pages < 5; pages += 1) {
      const after = read.at(-1) ?? null
      read.push(...(await store().auditLog.list({ userId: mine, after, limit: 2 })))
    }
    assert.deepEqual(
      read.map(({ at }) => at - now),
      [9, 5, 5, 5, 0],
    )
    assert.equal(new Set(read.map(({ id }) => id)).size, 5)
    assert.deepEqual(read, await all(mine))
    const [newest] = await store().auditLog.list({ userId: other, after: null, limit: 1 })
    const { id: _id, ...entry } = newest ?? assert.fail('nothing was written')
    assert.deepEqual(entry, {
      at: now + 6,
      actor: '192.0.2.1',
      address: '192.0.2.1',
      action: 'keys.revoke',
      userId: other,
      subject: auditSamples['keys.revoke'].subject,
      facts: factsFor('keys.revoke'),
    })
  })

  test('entries are limited to actions that begin with a text, which is no pattern', async () => {
    const userId = newId<UserId>()
    const actions = ['keys.create', 'keys.revoke', 'account.signed-in'] as const
    for (const [at, action] of actions.entries()) await write(userId, now + at, action)
    const list = async (action: string) =>
      (await store().auditLog.list({ userId, action, after: null, limit: 9 })).map(
        (row) => row.action,
      )
    assert.deepEqual(await list('keys.'), ['keys.revoke', 'keys.create'])
    assert.deepEqual(await list('keys.create'), ['keys.create'])
    assert.deepEqual(
      [await list('%'), await list('eys.'), await list('keys.createx')],
      [[], [], []],
    )
  })

  test('the address of a person is kept beside the name; operators and the service have none', async () => {
    const userId = newId<UserId>()
    const sessionId = newId<SessionId>()
    const actors: readonly Actor[] = [
      { kind: 'person', userId, sessionId, address: '2001:db8::7' },
      { kind: 'person', userId, sessionId },
      { kind: 'operator' },
      { kind: 'system' },
    ]
    for (const [index, actor] of actors.entries()) {
      await store().audit({ at: now + index, actor, userId, ...factsFor('keys.create') })
    }
    assert.deepEqual(
      (await all(userId)).toReversed().map(({ actor, address }) => [actor, address]),
      [
        ['user', '2001:db8::7'],
        ['user', null],
        ['admin', null],
        ['system', null],
      ],
    )
  })

  const actions = Object.keys(auditSamples) as AuditAction[]
  const operator = { kind: 'operator' } as const

  test('the facts of every action are read as they were written, beside the text of earlier versions', async () => {
    for (const [index, action] of actions.entries()) {
      const entry = { at: now + index, actor: operator, userId: sampleUser }
      await store().audit({ ...entry, ...factsFor(action) })
    }
    assert.deepEqual(
      (await all(sampleUser))
        .toReversed()
        .map(({ action, subject, facts }) => [action, subject, facts]),
      actions.map((action) => [action, auditSamples[action].subject, factsFor(action)]),
    )
  })

  test('an entry of an extension has its own action and text, and no facts that the product knows', async () => {
    const userId = newId<UserId>()
    const facts = { action: 'future.action', details: { thing: 'x' }, subject: 'x' }
    await store().auditExtension({ at: now, actor: operator, userId, ...facts })
    const [row] = await all(userId)
    assert.deepEqual([row?.action, row?.subject, row?.facts], ['future.action', 'x', null])
  })

  test('old refused sign-ins of all users are swept in batches, and nothing else', async () => {
    const mine = newId<UserId>()
    for (const at of [1000, 2000, 3000]) await write(mine, at)
    await write(null, 1500)
    await write(mine, 1000, signedIn)
    const bounds = { ...kept, before: 3000, limit: 2 }
    assert.equal(await store().auditLog.sweep('refusals', bounds), 2)
    assert.equal(await store().auditLog.sweep('refusals', bounds), 1)
    assert.equal(await store().auditLog.sweep('refusals', bounds), 0)
    assert.deepEqual(
      (await all(mine)).map(({ at, action }) => [at, action]),
      [
        [3000, refusedSignIn],
        [1000, signedIn],
      ],
    )
  })

  test('the newest refused sign-ins of each user, and of unknown addresses, are kept', async () => {
    const [mine, other] = [newId<UserId>(), newId<UserId>()]
    for (let at = 1; at <= 6; at += 1) {
      await write(mine, now + at)
      await write(null, now + at)
    }
    await write(other, now)
    const bounds = { ...kept, ofUser: 2, ofNobody: 4, limit: 3 }
    let swept = 0
    for (let count = 1; count > 0; swept += count)
      count = await store().auditLog.sweep('refusals', bounds)
    assert.equal(swept, 4 + 2)
    assert.deepEqual(
      (await all(mine)).map(({ at }) => at - now),
      [6, 5],
    )
    assert.equal((await all(other)).length, 1)
    const nobodys = (await all(null)).filter(({ userId }) => userId === null)
    assert.deepEqual(
      nobodys.map(({ at }) => at - now),
      [6, 5, 4, 3],
    )
  })

  test('sign-ins and sign-outs are swept together by age and by user, and nothing else', async () => {
    const [mine, other] = [newId<UserId>(), newId<UserId>()]
    for (const at of [1000, 4000, 5000, 6000]) await write(mine, at, signedIn)
    for (const at of [2000, 5500]) await write(mine, at, signedOut)
    await write(other, 4000, signedIn)
    for (const userId of [mine, null]) await write(userId, 1000)
    await write(mine, 1000, 'keys.create')
    const bounds = { before: 3000, ofUser: 3, ofNobody: 0, limit: 2 }
    const sweep = () => store().auditLog.sweep('sessions', bounds)
    for (let count = 0; (await sweep()) > 0; count += 1) assert.ok(count < 10, 'it comes to an end')
    const left = await all(mine)
    assert.deepEqual(
      left.filter(({ at }) => at > 1000).map(({ at, action }) => [at, action]),
      [
        [6000, signedIn],
        [5500, signedOut],
        [5000, signedIn],
      ],
    )
    const old = left.filter(({ at }) => at === 1000).map(({ action }) => action)
    assert.deepEqual(old.sort(), [refusedSignIn, 'keys.create'])
    assert.equal((await all(other)).length, 1)
    assert.equal(await store().auditLog.sweep('refusals', { ...kept, before: 1001 }), 2)
  })

  test('users are read page by page in the order in which they were made, each exactly once', async () => {
    for (const createdAt of [now, now, now, now + 1, now - 1]) await addUser(store(), { createdAt })
    const read: UserRow[] = []
    for (let pages = 0; pages < 4; pages += 1) {
      const after = read.at(-1) ?? null
      read.push(...(await store().users.listPage({ after, limit: 2 })))
    }
    assert.deepEqual(read, await store().users.list())
    assert.equal(read.length, 5)
  })
}

/** Entries of versions before migration 0018 have no details. */
export function testFormerAudit(makePlace: () => Promise<Place>): void {
  test('the facts of entries that earlier versions wrote are read from their text', async () => {
    const place = await makePlace()
    const first = await place.open()
    const actor = { kind: 'system' } as const
    const actions = (Object.keys(auditSamples) as AuditAction[]).filter(
      // Those that came later had facts from the beginning.
      (action) =>
        !action.startsWith('programs.') &&
        !action.startsWith('consumers.') &&
        !action.endsWith('-passkey') &&
        !['account.set-shows-balances', 'connections.set-label', 'keys.rotate'].includes(action),
    )
    for (const [index, action] of actions.entries()) {
      const entry = { at: now + index, actor, userId: sampleUser }
      await first.audit({ ...entry, ...factsFor(action) })
    }
    const page = { userId: sampleUser, after: null, limit: 100 }
    const before = await first.auditLog.list(page)
    await first.close()
    await place.tamper('update audit set details = null')
    const second = await place.open()
    assert.equal(before.length, actions.length)
    assert.deepEqual(await second.auditLog.list(page), before)
    await second.close()
    await place.tamper("update audit set details = 'no JSON'")
    const third = await place.open()
    const damaged = await third.auditLog.list(page)
    assert.deepEqual(
      damaged,
      before.map((row) => ({ ...row, facts: null })),
    )
    await third.close()
    await place.remove()
  })

  test('of the details no more is stored than the action names, and no entry without what it names', async () => {
    const place = await makePlace()
    const store = await place.open()
    const entry = { at: now, actor: { kind: 'system' }, userId: sampleUser } as const
    const details = { keyId: 'k', key: 'tributary_key_of_a_test', amount: '1234.56' }
    await store.audit({ ...entry, action: 'keys.create', details })
    const wrong = { action: 'keys.create', details: { key: 'x' } } as unknown as AuditEntry
    await assert.rejects(store.audit({ ...entry, ...wrong }))
    const rows = await store.auditLog.list({ userId: sampleUser, after: null, limit: 10 })
    assert.deepEqual(
      rows.map(({ facts }) => facts?.details),
      [{ keyId: 'k' }],
    )
    await store.close()
    assert.doesNotMatch(
      (await place.readAll()).toString('latin1'),
      /tributary_key_of_a_test|1234\.56/,
    )
    await place.remove()
  })
}
