/** The contract of the port for users and plans. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { domainToASCII } from 'node:url'
import fc from 'fast-check'
import { byOperator } from '#contract/actor.ts'
import { isEmail } from '#contract/email.ts'
import { newId, type UserId } from '#kernel/ids.ts'
import type { PlanRow } from '#store/ports/users.ts'
import type { StoreOf } from './place.ts'
import {
  addGrant,
  addKey,
  addLink,
  addOAuthRow,
  addUser,
  newAccount,
  newConnection,
  newUser,
  now,
  replaceAccounts,
} from './rows.ts'

const nobody = () => newId<UserId>()

export function testUsers(store: StoreOf): void {
  test('a user comes back as it was given, with the address trimmed and in its own spelling', async () => {
    const given = newUser({
      email: '  Aroha.Ngata@Example.test ',
      timezone: 'Pacific/Auckland',
      plan: 'professional',
      status: 'trialing',
      legacyUntil: now + 1,
      grandfathered: true,
      emailConfirmedAt: now + 2,
    })
    const made = await store().users.create(given)
    assert.ok(made !== 'taken')
    const email = 'Aroha.Ngata@Example.test'
    assert.deepEqual(made, { ...given, id: made.id, email, showsBalances: false })
    assert.deepEqual(await store().users.find(made.id), made)
  })

  test('the standing of users tells the last sight of a signed-in browser and the connections that work and do not', async () => {
    const { user, login } = await addLink(store(), {})
    const { connections, sessions, users } = store()
    for (const status of ['active', 'invalidated', 'revoked', 'pending_mfa'] as const) {
      await connections.save(newConnection(user.id, login.id, { status }))
    }
    await sessions.setPassword(user.id, 'a hash')
    for (const at of [now, now + 5]) {
      const hash = randomBytes(32)
      await sessions.create({ userId: user.id, hash, at, passwordHash: 'a hash' })
    }
    const app = { secret: randomBytes(20), at: now, step: 1, codeHashes: [] }
    assert.ok(await store().secondFactors.create({ userId: user.id, ...app }))
    const nobodys = await addUser(store(), {})
    const all = await users.listStandings([nobodys.id, user.id, nobody()])
    assert.deepEqual(
      all.toSorted((one, other) => other.activeConnections - one.activeConnections),
      [
        {
          id: user.id,
          lastSeenAt: now + 5,
          activeConnections: 2,
          brokenConnections: 3,
          hasSecondFactor: true,
        },
        {
          id: nobodys.id,
          lastSeenAt: null,
          activeConnections: 0,
          brokenConnections: 0,
          hasSecondFactor: false,
        },
      ],
    )
  })

  test('the choice to see balances at once is kept', async () => {
    const { id } = await addUser(store(), {})
    assert.equal((await store().users.setShowsBalances(id, true))?.showsBalances, true)
    assert.equal((await store().users.find(id))?.showsBalances, true)
    assert.equal(await store().users.setShowsBalances(newId<UserId>(), true), null)
  })

  test('a plan that was never set is told apart from one that was set to none', async () => {
    const unset = await addUser(store(), { plan: null })
    const none = await addUser(store(), { plan: 'none' })
    const changed = await addUser(store(), { plan: null })
    await store().users.setPlan(changed.id, { ...changed, plan: 'none' })
    const plans = [unset, none, changed].map(async ({ id }) => {
      const found = await store().users.find(id)
      const access = await store().users.findAccess(id)
      const key = await addKey(store(), id)
      const caller = await store().keys.findCaller(key.hash)
      return [found?.plan, access?.plan, caller?.plan]
    })
    assert.deepEqual(await Promise.all(plans), [
      [null, null, null],
      ['none', 'none', 'none'],
      ['none', 'none', 'none'],
    ])
  })

  test('an address has one account, whatever its case and the blanks around it', async () => {
    const user = await addUser(store(), { email: 'One@Example.test' })
    assert.equal(await store().users.create(newUser({ email: ' oNE@example.TEST' })), 'taken')
    assert.deepEqual(await store().users.find('ONE@EXAMPLE.TEST '), user)
  })

  test('an accepted address is found in every spelling of it, and taken in every one', async () => {
    const letters = 'abzéüçøаяλ中٣'
    const local = fc.string({
      unit: fc.constantFrom(...letters, '.', '+'),
      minLength: 1,
      maxLength: 8,
    })
    const host = fc.string({ unit: fc.constantFrom(...'abzéüçøя中'), minLength: 1, maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(local, host, async (name, domain) => {
        const email = `${name}-${newId<UserId>()}@${domain}.example`
        fc.pre(isEmail(email))
        const user = await addUser(store(), { email })
        const ascii = `${name}${email.slice(name.length, email.indexOf('@'))}@${domainToASCII(`${domain}.example`)}`
        const spellings = [
          email,
          ` ${email}\u00a0`,
          email.toUpperCase(),
          email.normalize('NFD'),
          ascii,
          ascii.toUpperCase(),
        ]
        for (const spelled of spellings) {
          assert.equal((await store().users.find(spelled))?.id, user.id, spelled)
          assert.equal(await store().users.create(newUser({ email: spelled })), 'taken')
        }
      }),
      { numRuns: 25 },
    )
  })

  test('of many who take one address at the same time, one gets it', async () => {
    const same = newUser({ email: 'race@example.test' })
    const made = await Promise.all(Array.from({ length: 8 }, () => store().users.create(same)))
    assert.equal(made.filter((answer) => answer !== 'taken').length, 1)
  })

  test('a user is found by id in any case, and an unknown one is null', async () => {
    const user = await addUser(store())
    assert.deepEqual(await store().users.find(user.id.toUpperCase()), user)
    assert.equal(await store().users.find(nobody()), null)
    assert.equal(await store().users.find('nobody@example.test'), null)
    assert.equal(await store().users.find(''), null)
  })

  test('the list has every user, oldest first', async () => {
    const late = await addUser(store(), { createdAt: now + 20_000 })
    const early = await addUser(store(), { createdAt: now + 10_000 })
    const ids = (await store().users.list()).map((user) => user.id)
    assert.ok(ids.indexOf(early.id) >= 0)
    assert.ok(ids.indexOf(early.id) < ids.indexOf(late.id))
  })

  test('R25: a plan is replaced whole, its legacy cut-off to the millisecond', async () => {
    const user = await addUser(store())
    const plan: PlanRow = {
      plan: 'none',
      status: 'canceled',
      legacyUntil: now + 7,
      grandfathered: true,
    }
    const changed = await store().users.setPlan(user.id, plan)
    assert.deepEqual(changed, { ...user, ...plan })
    assert.deepEqual(await store().users.find(user.id), changed)
    assert.equal(await store().users.setPlan(nobody(), plan), null)
  })

  test('a name is set and taken back, for one user only; there is none to set for a user who is gone', async () => {
    const [user, other] = [await addUser(store()), await addUser(store())]
    assert.deepEqual(await store().users.setName(user.id, 'Āwhina “A”'), {
      ...user,
      name: 'Āwhina “A”',
    })
    assert.equal((await store().users.find(user.id))?.name, 'Āwhina “A”')
    assert.deepEqual(await store().users.find(other.id), other)
    assert.equal((await store().users.setName(user.id, null))?.name, null)
    assert.equal(await store().users.setName(newId<UserId>(), 'x'), null)
    await store().users.disarm(user.id, now)
    assert.equal(await store().users.setName(user.id, 'x'), null)
  })

  test('a timezone is set and taken back', async () => {
    const user = await addUser(store())
    const set = await store().users.setTimezone(user.id, 'Australia/Perth')
    assert.equal(set?.timezone, 'Australia/Perth')
    assert.equal((await store().users.setTimezone(user.id, null))?.timezone, null)
    assert.equal(await store().users.setTimezone(nobody(), null), null)
  })

  test('a disarmed user is not found, and has no access of any kind; others keep theirs', async () => {
    const gone = await addLink(store())
    const stays = await addLink(store())
    const held = await Promise.all(
      [gone, stays].map(async ({ user }) => {
        const key = await addKey(store(), user.id)
        const grant = await addGrant(store(), user.id)
        const token = await addOAuthRow(store(), { grantId: grant.id })
        const cookie = new Uint8Array(randomBytes(32))
        const passwordHash = '$argon2id$x'
        await store().sessions.setPassword(user.id, passwordHash)
        await store().sessions.create({ userId: user.id, hash: cookie, at: now, passwordHash })
        return { user, key, token, cookie }
      }),
    )
    const earlier = await addKey(store(), gone.user.id)
    await store().keys.revoke(earlier.id, now - 5)
    assert.equal(await store().users.disarm(gone.user.id, now), true)
    const left = await Promise.all(
      held.map(async ({ user, key, token, cookie }) => [
        (await store().keys.findCaller(key.hash)) !== null,
        (await store().oauth.find('AccessToken', token.id)) !== null,
        (await store().sessions.find(cookie)) !== null,
        (await store().sessions.findPassword(user.id)) !== null,
        (await store().users.find(user.id)) !== null,
      ]),
    )
    assert.deepEqual(left, [
      [false, false, false, false, false],
      [true, true, true, true, true],
    ])
    assert.equal((await store().connections.find(gone.connection.id))?.status, 'deleting')
    assert.equal((await store().connections.find(stays.connection.id))?.status, 'active')
    const revoked = (await store().keys.list(gone.user.id)).map(({ revokedAt }) => revokedAt)
    assert.deepEqual(revoked.sort(), [now - 5, now].sort())
    assert.equal(await store().users.disarm(nobody(), now), false)
  })

  test('only a user whose address was never confirmed gives it up with all access; then another may have it', async () => {
    const { user, connection } = await addLink(store())
    const key = await addKey(store(), user.id)
    await store().sessions.setPassword(user.id, '$argon2id$x')
    const linked = { kind: 'reset', userId: user.id, email: user.email, createdAt: now } as const
    const hash = new Uint8Array(randomBytes(32))
    const bounds = { since: now - 1, limit: 5 }
    await store().singleUse.create({ ...linked, hash, expiresAt: now + 1000 }, bounds)
    assert.equal(await store().users.disarmUnconfirmed(user.id, now), true)
    assert.equal(await store().users.disarmUnconfirmed(user.id, now), false)
    assert.equal(await store().users.find(user.email, { deleting: true }), null)
    assert.equal((await store().users.find(user.id, { deleting: true }))?.email, user.email)
    assert.equal(await store().keys.findCaller(key.hash), null)
    assert.equal(await store().singleUse.find('reset', hash), null)
    assert.equal((await store().connections.find(connection.id))?.status, 'deleting')
    const next = await store().users.create({ ...newUser(), email: user.email })
    assert.ok(next !== 'taken')
    await store().singleUse.create({ ...linked, userId: next.id, hash, expiresAt: now + 1 }, bounds)
    const deleting = await store().users.listDeleting({ before: now + 1, limit: 500 })
    assert.ok(deleting.includes(user.id))
    // The deletion that the sweep ends takes nothing from the next owner of the address.
    assert.equal(await store().users.disarm(user.id, now), true)
    assert.equal(await store().users.delete(user.id), true)
    assert.notEqual(await store().singleUse.find('reset', hash), null)
    await store().users.confirmEmail(next.id, now)
    assert.equal(await store().users.disarmUnconfirmed(next.id, now), false)
    assert.equal(await store().users.disarmUnconfirmed(nobody(), now), false)
  })

  test('deleting a user deletes all their rows and no others', async () => {
    const gone = await addLink(store())
    const stays = await addLink(store())
    const key = await addKey(store(), gone.user.id)
    const otherKey = await addKey(store(), stays.user.id)
    await replaceAccounts(store(), gone.connection.id, [newAccount()])
    await replaceAccounts(store(), stays.connection.id, [newAccount()])
    assert.equal(await store().users.delete(gone.user.id), true)
    assert.equal(await store().users.find(gone.user.id), null)
    assert.equal(await store().keys.findCaller(key.hash), null)
    assert.deepEqual(await store().keys.list(gone.user.id), [])
    assert.equal(await store().logins.get(gone.login.id), null)
    assert.equal(await store().connections.find(gone.connection.id), null)
    assert.deepEqual(await store().accounts.list(gone.user.id), [])
    assert.equal((await store().keys.findCaller(otherKey.hash))?.userId, stays.user.id)
    assert.equal((await store().accounts.list(stays.user.id)).length, 1)
    assert.equal(await store().users.delete(gone.user.id), false)
  })

  test('the entries of a user outlive the user, and are taken afterwards too', async () => {
    const { id: userId } = await addUser(store())
    const { actor } = byOperator
    const entry = { actor, action: 'users.delete', details: {}, userId } as const
    await store().audit({ ...entry, at: now })
    await store().users.delete(userId)
    await store().audit({ ...entry, at: now + 1 })
    const rows = await store().auditLog.list({ userId, after: null, limit: 9 })
    assert.deepEqual(
      rows.map(({ at, action }) => [at - now, action]),
      [
        [1, 'users.delete'],
        [0, 'users.delete'],
      ],
    )
  })

  test('the store answers', () => store().ping())
}
