/** R10: which changes invalidate a user's cached answers, and which do not. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { ConnectionId, LoginId, UserId } from '#kernel/ids.ts'
import type { StoreOf } from './place.ts'
import {
  addKey,
  addLink,
  addLogin,
  epochOf,
  newAccount,
  newConnection,
  now,
  replaceAccounts,
  someUpstreamId,
} from './rows.ts'

export function testEpoch(store: StoreOf): void {
  let userId: UserId
  let loginId: LoginId
  let id: ConnectionId
  let keyHash: Uint8Array
  const account = newAccount()

  before(async () => {
    const { user, login, connection } = await addLink(store())
    userId = user.id
    loginId = login.id
    id = connection.id
    keyHash = (await addKey(store(), user.id)).hash
  })

  const growth = async (change: () => Promise<unknown>) => {
    const from = await epochOf(store(), keyHash)
    await change()
    return (await epochOf(store(), keyHash)) - from
  }

  // One after another on one connection: each stands on the one before.
  const changes: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['another timezone', () => store().users.setTimezone(userId, 'Europe/London')],
    ['a new connection', () => store().connections.save(newConnection(userId, loginId))],
    ['another status', () => store().connections.setStatus(id, 'invalidated')],
    [
      'another institution',
      () =>
        store().connections.setInstitution(id, {
          institutionId: '23',
          institutionName: 'Other Bank',
          institutionLogo: null,
        }),
    ],
    ['another upstream id', () => store().connections.repoint(id, someUpstreamId())],
    ['new accounts', () => replaceAccounts(store(), id, [account])],
    ['another name', () => replaceAccounts(store(), id, [{ ...account, name: 'Bills' }])],
    ['a missing account', () => replaceAccounts(store(), id, [])],
    ['a returning account', () => replaceAccounts(store(), id, [account])],
    [
      'a deletion begun',
      () => store().connections.startDeletion(id, { endsAtProvider: false, at: now }),
    ],
    ['a deletion done', () => store().connections.delete(id)],
    ['a new login', () => addLogin(store(), userId)],
  ]
  const noChanges: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['the same status', () => store().connections.setStatus(id, 'active')],
    ['a refresh', () => store().connections.setRefreshed(id, now + 1, { isReported: false })],
    ['accounts that are equal', () => replaceAccounts(store(), id, [])],
    [
      'another plan',
      () =>
        store().users.setPlan(userId, {
          plan: 'professional',
          status: 'active',
          legacyUntil: null,
          grandfathered: false,
        }),
    ],
    ['a new key', () => addKey(store(), userId)],
  ]

  for (const [name, change] of noChanges)
    test(`R10: ${name} does not change the epoch`, async () => {
      assert.equal(await growth(change), 0)
    })
  for (const [name, change] of changes)
    test(`R10: ${name} makes the epoch grow by one`, async () => {
      assert.equal(await growth(change), 1)
    })

  test('R10: the same link saved again makes the epoch grow: it was reconnected', async () => {
    const { user, connection } = await addLink(store())
    const { hash } = await addKey(store(), user.id)
    const from = await epochOf(store(), hash)
    const { upstreamId, loginId: login } = connection
    await store().connections.save(newConnection(user.id, login, { upstreamId }))
    assert.equal(await epochOf(store(), hash), from + 1)
  })

  test('R10: a login saved again makes the epoch grow, with the same credentials too: it was reconnected', async () => {
    const { user, login } = await addLink(store())
    const { hash } = await addKey(store(), user.id)
    const from = await epochOf(store(), hash)
    for (const secret of [login.secret, 'another']) await store().logins.save({ ...login, secret })
    assert.equal(await epochOf(store(), hash), from + 2)
  })

  test('R10: many changes at once are all counted', async () => {
    const { user, connection } = await addLink(store())
    const { hash } = await addKey(store(), user.id)
    const from = await epochOf(store(), hash)
    await Promise.all(
      Array.from({ length: 10 }, () =>
        store().connections.repoint(connection.id, someUpstreamId()),
      ),
    )
    assert.equal(await epochOf(store(), hash), from + 10)
  })
}
