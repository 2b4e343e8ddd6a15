/**
 * Two processes on one store, or two calls of one process, at the same moment: what must hold in either
 * order. The stores handed in may be the same.
 */
import assert from 'node:assert/strict'
import type { ConnectionId } from '#kernel/ids.ts'
import { OwnerGoneError } from '#store/failure.ts'
import type { LoginName, LoginRef } from '#store/ports/logins.ts'
import { maxPasskeys } from '#store/ports/passkeys.ts'
import type { Store } from '#store/ports/store.ts'
import {
  addLink,
  addLogin,
  addUser,
  newConnection,
  newKey,
  newLinking,
  newPasskey,
  now,
  someChallenge,
  someHash,
} from './rows.ts'

const states = ['active', 'invalidated', 'pending_mfa', 'revoked'] as const

/**
 * One begins to delete a user while the other gives them things: each is found by the deletion, or was
 * refused.
 */
export async function raceDeletion(one: Store, other: Store): Promise<void> {
  const { user, login } = await addLink(one)
  const grantId = someHash()
  const [begun, made, saved, ...rest] = await Promise.allSettled([
    one.users.disarm(user.id, now),
    addLogin(other, user.id),
    other.connections.save(newConnection(user.id, login.id)),
    other.keys.create(newKey(user.id)),
    other.keys.createWithin(newKey(user.id), 20),
    other.sessions.setPassword(user.id, 'a hash'),
    other.oauth.saveGrant({
      id: grantId,
      userId: user.id,
      clientId: 'agent',
      payload: '{}',
      createdAt: now,
      expiresAt: now + 1000,
    }),
  ])
  assert.deepEqual(begun, { status: 'fulfilled', value: true })
  for (const outcome of [made, saved, ...rest]) {
    if (outcome.status === 'rejected') assert.ok(outcome.reason instanceof OwnerGoneError)
  }
  const logins = await one.logins.listIds(user.id)
  assert.equal(logins.length, made.status === 'fulfilled' ? 2 : 1)
  const rows = await one.connections.listByLogin(login.id)
  assert.equal(rows.length, saved.status === 'fulfilled' ? 2 : 1)
  assert.ok(rows.every(({ status }) => status === 'deleting'))
  assert.ok((await one.keys.list(user.id)).every(({ revokedAt }) => revokedAt !== null))
  assert.equal(await one.oauth.findGrant(grantId), null)
  assert.equal(await one.sessions.findPassword(user.id), null)
}

/** One finds the old credentials refused while the other saves new ones and finds the link alive. */
export async function raceRelink(one: Store, other: Store): Promise<void> {
  const { login, connection } = await addLink(one)
  const wholeLogin = Math.random() < 0.5
  const relink = async () => {
    const saved = await other.logins.save({ ...login, secret: 'new' })
    const { id } = connection
    await other.connections.saveLearntStatus({
      login: saved,
      connectionId: id,
      from: states,
      to: 'active',
    })
  }
  const lose = (to: (typeof states)[number]) =>
    one.connections.saveLearntStatus({
      login,
      connectionId: wholeLogin ? null : connection.id,
      from: states,
      to,
    })
  await Promise.all([lose('invalidated'), relink(), lose('revoked')])
  await lose('invalidated')
  assert.equal((await one.connections.find(connection.id))?.status, 'active')
}

/** Saves a login; the secret that it replaced, or null. */
const replaceSecret = (store: Store, name: LoginName, secret: string) =>
  store.transact(async (tx) => {
    const id = await tx.logins.holdNamed(name)
    const former = id === null ? null : await tx.logins.get(id)
    await new Promise((resolve) => setTimeout(resolve, 5))
    await tx.logins.save({ ...name, secret })
    return former?.secret ?? null
  })

/** Both replace the secret of one login, which may not exist yet: each secret but the last is found once. */
export async function raceSecrets(one: Store, other: Store): Promise<void> {
  const { id: userId } = await addUser(one)
  const name = { userId, provider: 'enablebanking', upstreamUserId: 'a bank' } as const
  const secrets = ['1', '2', '3', '4', '5', '6']
  const replaced = await Promise.all(
    secrets.map((secret, index) => replaceSecret(index % 2 === 0 ? one : other, name, secret)),
  )
  const [login] = await one.logins.list(userId)
  const found = replaced.filter((secret) => secret !== null)
  assert.deepEqual([...found, login?.secret].toSorted(), secrets)
}

/** Begins a link with a login, unless it ends. */
const beginLink = (store: Store, { id, userId }: LoginRef) =>
  store.transact(async (tx) => {
    if ((await tx.logins.hold(id))?.isEnding !== false) return false
    await new Promise((resolve) => setTimeout(resolve, 5))
    await tx.linkings.create(newLinking({ userId, loginId: id }))
    return true
  })

/**
 * A link begins with a login that nothing uses while it is to end, and with one of which both remove one of
 * the last two connections: either one of them ends it, or the link keeps it.
 */
export async function raceEnding(one: Store, other: Store): Promise<void> {
  const { user, login, connection } = await addLink(one)
  const unused = await addLogin(one, user.id)
  const end = one.logins.startEnding(unused.id, { now })
  assert.notEqual(...(await Promise.all([beginLink(other, unused), end])))
  const second = await one.connections.save(newConnection(user.id, login.id))
  const remove = (store: Store, { id }: { readonly id: ConnectionId }) =>
    store.transact(async (tx) => {
      await tx.connections.delete(id)
      return tx.logins.startEnding(login.id, { now })
    })
  const works = [
    () => remove(one, connection),
    () => beginLink(other, login),
    () => remove(other, second),
  ]
  const turn = Math.floor(Math.random() * works.length)
  const turned = [...works.slice(turn), ...works.slice(0, turn)]
  const ended = await Promise.all(turned.map((work) => work()))
  assert.equal(ended.filter(Boolean).length, 1)
}

/** One gives a user up altogether while the other links: whatever comes first, no row of theirs is left. */
export async function raceRemoval(one: Store, other: Store): Promise<void> {
  const user = await addUser(one)
  await one.users.disarm(user.id, now)
  await Promise.allSettled([one.users.delete(user.id), addLogin(other, user.id)])
  assert.deepEqual(await one.logins.listIds(user.id), [])
  assert.equal(await one.users.find(user.id, { deleting: true }), null)
}

/** Both give the same code, and the same recovery code: each is accepted once. */
export async function raceCodes(one: Store, other: Store): Promise<void> {
  for (let round = 1; round <= 5; round += 1) {
    const user = await addUser(one)
    const [hash, secret] = [someHash(), someHash()]
    const factor = { userId: user.id, secret, at: now, step: 1, codeHashes: [hash] }
    const made = [one, other].map((store) => store.secondFactors.create(factor))
    assert.deepEqual((await Promise.all(made)).sort(), [false, true])
    const steps = [one, other, one, other].map((store) =>
      store.secondFactors.useStep(user.id, { createdAt: now, step: 2 }),
    )
    assert.deepEqual((await Promise.all(steps)).filter(Boolean).length, 1)
    const codes = [one, other, one, other].map((store) =>
      store.secondFactors.useCode(user.id, hash, now),
    )
    assert.deepEqual((await Promise.all(codes)).filter(Boolean).length, 1)
  }
}

/** Both answer the same challenge, and both add passkeys up to the bound: one answer counts, ten are kept. */
export async function racePasskeys(one: Store, other: Store): Promise<void> {
  const user = await addUser(one)
  const made = await Promise.all(
    Array.from({ length: 14 }, (_, index) =>
      (index % 2 === 0 ? one : other).passkeys.create(newPasskey(user.id)),
    ),
  )
  assert.equal(made.filter(({ kind }) => kind === 'made').length, maxPasskeys)
  assert.equal(made.filter((each) => each.kind === 'made' && each.areCodesNew).length, 1)
  const [row] = await one.passkeys.list(user.id)
  assert(row !== undefined)
  for (let round = 1; round <= 5; round += 1) {
    const challenge = someChallenge()
    const uses: Promise<boolean>[] = [one, other, one, other].map((store) =>
      store.passkeys.use(user.id, { passkeyId: row.id, signCount: 0, challenge }, now),
    )
    assert.equal((await Promise.all(uses)).filter(Boolean).length, 1)
  }
}
