/**
 * What webhooks do to connections: which ones they concern, which status is stored, when a sync is requested,
 * and that a repetition, an older one and one about another login change nothing.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ConnectionStatus } from '#contract/resources.ts'
import { upstreamId as at, type ConnectionId, newId } from '#kernel/ids.ts'
import { Secret } from '#kernel/secret.ts'
import { UpstreamError } from '#providers/failure.ts'
import type { Adapter, WebhookNotice } from '#providers/port.ts'
import type { LoginRow } from '#store/ports/logins.ts'
import { now } from '#tests/contract/store/rows.ts'
import {
  addPerson,
  anyRequest,
  makeBare,
  makeGround,
  minute,
  notice,
  statusOf,
} from '#tests/support/notices.ts'

test('a refused webhook changes nothing and says why', async (t) => {
  const ground = await makeGround(t)
  const person = await addPerson(ground, 'person-1', [{ id: 'a' }])
  await ground.requested()
  const epoch = await person.epoch()
  for (const reason of ['unsigned', 'forged', 'too_old', 'unreadable'] as const) {
    ground.next = { kind: 'refused', reason }
    assert.equal(await ground.receive(), reason)
  }
  assert.equal(await person.epoch(), epoch)
  assert.deepEqual(await ground.requested(), [])
})

test('a webhook that cannot be verified now is an error, and so is one of a provider without webhooks', async (t) => {
  const ground = await makeGround(t)
  ground.next = new UpstreamError('akahu', { kind: 'unavailable', status: null, detail: 'no key' })
  await assert.rejects(ground.receive('akahu'), UpstreamError)
  const bare = makeBare(ground.store, { fiskil: { access: {} } as unknown as Adapter })
  for (const provider of ['fiskil', 'akahu'] as const) {
    const refused = { entry: 'provider_not_configured' }
    await assert.rejects(bare.receiveWebhook(provider, anyRequest), refused)
  }
})

test('new rows: cached answers are not served again, and a sync of that connection alone is requested', async (t) => {
  const ground = await makeGround(t)
  const person = await addPerson(ground, 'person-1', [{ id: 'a' }, { id: 'b' }])
  const stranger = await addPerson(ground, 'person-2', [{ id: 'a' }])
  await ground.requested()
  const [epoch, theirs] = [await person.epoch(), await stranger.epoch()]
  assert.equal(await ground.tell(notice({ kind: 'rows' }, { connection: at('b') })), 'done')
  assert.equal(await person.epoch(), epoch + 1)
  assert.equal(await stranger.epoch(), theirs)
  assert.deepEqual(await ground.requested(), [person.ids[1]])
})

test('a webhook about a person reaches the connections of every user who linked them', async (t) => {
  const ground = await makeGround(t)
  const one = await addPerson(ground, 'person-1', [{ id: 'a' }])
  const two = await addPerson(ground, 'person-1', [{ id: 'a' }])
  await ground.requested()
  await ground.tell(notice({ kind: 'accounts' }, { connection: at('a') }))
  assert.deepEqual(new Set(await ground.requested()), new Set([...one.ids, ...two.ids]))
})

test('balances and holdings only invalidate cached answers; the provider’s time is stored', async (t) => {
  const ground = await makeGround(t)
  const person = await addPerson(ground, 'person-1', [{ id: 'a' }])
  await ground.requested()
  const epoch = await person.epoch()
  const refreshedAt = now - 5000
  for (const kind of ['balances', 'holdings'] as const) {
    assert.equal(await ground.tell(notice({ kind }, { refreshedAt })), 'done')
  }
  assert.equal(await person.epoch(), epoch + 2)
  assert.deepEqual(await ground.requested(), [])
  const row = await ground.store.connections.list(person.user.id)
  assert.equal(row[0]?.lastRefreshedAt, refreshedAt)
})

test('without a connection id the webhook concerns all connections, the one with the account, or those of the institution', async (t) => {
  const ground = await makeGround(t)
  const { ids } = await addPerson(ground, 'person-1', [
    { id: 'a', institution: 'inst-1', account: 'acc-1' },
    { id: 'b', institution: 'inst-2', account: 'acc-2' },
  ])
  await ground.requested()
  const [a, b] = ids
  const meant: [about: Partial<WebhookNotice>, wanted: (ConnectionId | undefined)[]][] = [
    [{}, [a, b]],
    [{ account: at('acc-2') }, [b]],
    [{ account: at('acc-new') }, [a, b]],
    [{ connection: at('renewed'), institutionId: 'inst-2' }, [b]],
    [{ connection: at('a'), institutionId: 'inst-2' }, [a]],
    [{ connection: at('unknown') }, []],
    [{ connection: at('unknown'), institutionId: 'inst-9' }, []],
  ]
  for (const [about, wanted] of meant) {
    ground.time += 5 * minute
    const outcome = await ground.tell(notice({ kind: 'consent' }, about))
    assert.equal(outcome, wanted.length === 0 ? 'unmatched' : 'done')
    assert.deepEqual(new Set(await ground.requested()), new Set(wanted), JSON.stringify(about))
  }
})

test('a login is found by our reference too, and only at its own provider', async (t) => {
  const ground = await makeGround(t)
  const { login, ids } = await addPerson(ground, 'person-1', [{ id: 'a' }])
  await ground.requested()
  const by = (reference: string) => notice({ kind: 'rows' }, { login: { reference } })
  assert.equal(await ground.tell(by(login.id)), 'done')
  assert.deepEqual(await ground.requested(), ids)
  assert.equal(await ground.tell(by(login.id.toUpperCase())), 'done')
  for (const reference of [newId<LoginRow['id']>(), 'no id', '', "' or 1=1"]) {
    assert.equal(await ground.tell(by(reference)), 'unmatched')
  }
  await ground.tell(by(login.id))
  ground.next = { kind: 'accepted', key: 'x', keyLifeMs: minute, notices: [by(login.id)] }
  assert.equal(await ground.receive('akahu'), 'unmatched')
})

test('a repetition is recognised while its provider may send one, and is harmless later', async (t) => {
  const ground = await makeGround(t)
  const person = await addPerson(ground, 'person-1', [{ id: 'a' }])
  await ground.requested()
  await ground.tell(notice({ kind: 'rows' }))
  const epoch = await person.epoch()
  assert.deepEqual(await ground.requested(), person.ids)
  assert.equal(await ground.receive(), 'repeated')
  assert.equal(await ground.receive('fiskil'), 'unmatched')
  assert.deepEqual(await ground.requested(), [])
  assert.equal(await person.epoch(), epoch)
  ground.time += 10 * minute
  assert.equal(await ground.receive(), 'done')
})

test('however many webhooks arrive, cached answers of a login are invalidated thirty times in five minutes', async (t) => {
  const ground = await makeGround(t)
  const person = await addPerson(ground, 'person-1', [{ id: 'a' }])
  const other = await addPerson(ground, 'person-2', [{ id: 'a' }])
  await ground.requested()
  const [epoch, theirs] = [await person.epoch(), await other.epoch()]
  for (let count = 0; count < 50; count += 1)
    await ground.tell(notice({ kind: count % 2 === 0 ? 'balances' : 'rows' }))
  assert.equal(await person.epoch(), epoch + 30)
  assert.deepEqual(await ground.requested(), person.ids)
  await ground.tell(notice({ kind: 'rows' }, { login: { upstreamUserId: 'person-2' } }))
  assert.equal(await other.epoch(), theirs + 1)
  ground.time += 5 * minute
  await ground.tell(notice({ kind: 'balances' }))
  assert.equal(await person.epoch(), epoch + 31)
})

test('a webhook that concerns no connection is not remembered', async (t) => {
  const ground = await makeGround(t)
  for (let time = 0; time < 2; time += 1) {
    ground.next = { kind: 'accepted', key: 'same', keyLifeMs: minute, notices: [] }
    assert.equal(await ground.receive(), 'ignored')
  }
})

test('a webhook whose changes could not be stored counts as not received', async (t) => {
  let isBroken = true
  const ground = await makeGround(t, (store) => ({
    ...store,
    transact: (work) => (isBroken ? Promise.reject(new Error('disk full')) : store.transact(work)),
  }))
  const person = await addPerson(ground, 'person-1', [{ id: 'a' }])
  await ground.requested()
  await assert.rejects(ground.tell(notice({ kind: 'rows' })), /disk full/)
  isBroken = false
  assert.equal(await ground.receive(), 'done')
  assert.deepEqual(await ground.requested(), person.ids)
})

test('the same webhook again, before its changes are stored, is not received: they may never be', async (t) => {
  const hanging = Promise.withResolvers<never>()
  const begun = Promise.withResolvers<void>()
  let isHanging = true
  const ground = await makeGround(t, (store) => ({
    ...store,
    transact: (work) => {
      if (!isHanging) return store.transact(work)
      begun.resolve()
      return hanging.promise
    },
  }))
  const person = await addPerson(ground, 'person-1', [{ id: 'a' }])
  await ground.requested()
  const first = ground.tell(notice({ kind: 'rows' }))
  await begun.promise
  isHanging = false
  assert.equal(await ground.receive(), 'under_way')
  assert.deepEqual(await ground.requested(), [])
  await t.test('when its process was killed meanwhile, it is soon received', async () => {
    ground.time += 2000
    assert.equal(await ground.receive(), 'done')
    assert.deepEqual(await ground.requested(), person.ids)
    assert.equal(await ground.receive(), 'repeated')
  })
  hanging.reject(new Error('killed'))
  await assert.rejects(first, /killed/)
})

const status = (to: 'active' | 'invalidated' | 'revoked', time: number, id = 'a') =>
  notice({ kind: 'status', status: to, at: time }, { connection: at(id) })

test('a recent status is stored at once, and only a login that works again is read again', async (t) => {
  const ground = await makeGround(t)
  const { ids } = await addPerson(ground, 'person-1', [{ id: 'a' }, { id: 'b' }])
  const [a, b] = ids
  await ground.requested()
  await ground.tell(status('invalidated', now))
  assert.deepEqual(
    [await statusOf(ground, a), await statusOf(ground, b)],
    ['invalidated', 'active'],
  )
  assert.deepEqual(await ground.requested(), [])
  await ground.tell(status('active', now + 1))
  assert.equal(await statusOf(ground, a), 'active')
  assert.deepEqual(await ground.requested(), [a])
  await ground.tell(status('revoked', now + 2))
  assert.equal(await statusOf(ground, a), 'revoked')
  assert.deepEqual(await ground.requested(), [])
})

test('an older status that arrives after a newer one changes nothing: a sync asks the provider', async (t) => {
  const ground = await makeGround(t)
  const { ids } = await addPerson(ground, 'person-1', [{ id: 'a' }])
  await ground.requested()
  await ground.tell(status('active', now + 10))
  await ground.requested()
  await ground.tell(status('invalidated', now + 5))
  assert.equal(await statusOf(ground, ids[0]), 'active')
  assert.deepEqual(await ground.requested(), ids)
})

test('a status that arrives late is read from the provider instead of stored, even when it is newer than ours', async (t) => {
  const ground = await makeGround(t)
  const { ids } = await addPerson(ground, 'person-1', [{ id: 'a' }])
  await ground.requested()
  ground.time = now + 6 * minute
  for (const time of [now, now + 12 * minute]) {
    await ground.tell(status('invalidated', time))
    assert.equal(await statusOf(ground, ids[0]), 'active')
    assert.deepEqual(await ground.requested(), ids)
  }
})

test('no webhook makes a revoked connection active or invalidated: a sync asks the provider', async (t) => {
  const ground = await makeGround(t)
  const { ids } = await addPerson(ground, 'person-1', [{ id: 'a' }])
  const [id] = ids
  assert.ok(id !== undefined)
  await ground.store.connections.setStatus(id, 'revoked')
  await ground.requested()
  let time = now
  for (const to of ['active', 'invalidated'] as const) {
    time += 1
    await ground.tell(status(to, time))
    assert.equal(await statusOf(ground, id), 'revoked')
    assert.deepEqual(await ground.requested(), ids)
  }
})

test('a connection that is being deleted is not changed, and one that was removed here is unknown', async (t) => {
  const ground = await makeGround(t)
  const { ids } = await addPerson(ground, 'person-1', [{ id: 'a' }])
  const [id] = ids
  assert.ok(id !== undefined)
  await ground.store.connections.setStatus(id, 'deleting')
  const statuses: ConnectionStatus[] = ['active', 'invalidated', 'revoked']
  for (const [index, to] of statuses.entries()) {
    if (to === 'pending_mfa') continue
    assert.equal(await ground.tell(status(to, now + index)), 'unmatched')
  }
  assert.equal(await statusOf(ground, id), 'deleting')
})

test('a secret that was revoked is deleted, and all its connections are revoked; another one stays', async (t) => {
  const ground = await makeGround(t)
  const { login, ids, epoch } = await addPerson(ground, 'person-1', [{ id: 'a' }, { id: 'b' }])
  await ground.requested()
  const before = await epoch()
  const revoked = (text: string) => notice({ kind: 'secret_revoked', secret: new Secret(text) })
  await ground.tell(revoked('a former secret'))
  assert.equal(await statusOf(ground, ids[0]), 'active')
  assert.equal((await ground.store.logins.get(login.id))?.secret, 'the secret')
  await ground.tell(revoked('the secret'))
  for (const id of ids) assert.equal(await statusOf(ground, id), 'revoked')
  assert.equal((await ground.store.logins.get(login.id))?.secret, null)
  assert.ok((await epoch()) > before)
  assert.equal(await ground.tell(revoked('the secret')), 'done')
})

test('one webhook may report several changes', async (t) => {
  const ground = await makeGround(t)
  const { ids, epoch } = await addPerson(ground, 'person-1', [{ id: 'a' }])
  await ground.requested()
  const before = await epoch()
  await ground.tell(notice({ kind: 'balances' }), notice({ kind: 'consent' }))
  assert.equal(await epoch(), before + 2)
  assert.deepEqual(await ground.requested(), ids)
})

test('when the provider cancels its webhooks, one sync of the login is requested', async (t) => {
  const ground = await makeGround(t)
  const { ids } = await addPerson(ground, 'person-1', [{ id: 'a' }, { id: 'b' }])
  await ground.requested()
  await ground.tell(notice({ kind: 'cancelled' }))
  const requested = await ground.requested()
  assert.equal(requested.length, 1)
  assert.ok(ids.some((id) => id === requested[0]))
})
