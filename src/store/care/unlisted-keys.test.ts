import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { reconnectDueAt } from '#mail/reconnect-due.ts'
import { accept, addEndpoint, newEvent } from '#tests/contract/store/event-rows.ts'
import { keyA, keyB, makeMigratedPlace, openSqliteStore } from '#tests/contract/store/place.ts'
import {
  addGrant,
  addLink,
  addLogin,
  addOAuthRow,
  addUser,
  now,
  someHash,
} from '#tests/contract/store/rows.ts'
import { makeLoginStore } from '../connections/logins.ts'
import { makeFeed } from '../engine/change-feed.ts'
import { makeWrite } from '../engine/engine.ts'
import { openSqlite } from '../engine/sqlite-engine.ts'
import { makeDeliveryStore } from '../events/deliveries.ts'
import { makeEndpointStore } from '../events/endpoints.ts'
import { makeEventStore } from '../events/events.ts'
import { makeOpenedEndpoints } from '../events/opened-endpoints.ts'
import { StoreUnavailableError } from '../failure.ts'
import { makeMailStore } from '../mails/mails.ts'
import { makeOAuthStore } from '../people/oauth.ts'
import { makeSecondFactorStore } from '../people/second-factors.ts'
import type { Store } from '../ports/store.ts'
import { makeSealer, SealError } from '../seal.ts'
import { makeLedgerStore } from '../syncs/ledgers.ts'
import { reportOnce, watchKeys } from './unlisted-keys.ts'

/** The secret of a login as another process would seal it. */
const sealedByB = Buffer.from(makeSealer([keyB]).seal('login', 'row', Buffer.from('x'))).toString(
  'hex',
)

async function settle(t: TestContext) {
  const place = makeMigratedPlace()
  const store = await place.open()
  const { id } = await addLogin(store, (await addUser(store)).id)
  await store.close()
  await place.tamper(`update logins set secret = x'${sealedByB}'`)
  const ends: Error[] = []
  const open = () => place.open({ onLackingKey: (error) => ends.push(error) })
  return { place, id, ends, store: await openSqliteStore(t, { ...place, open }) }
}

test('a secret that names another key than its row does is damaged, and the process goes on', async (t) => {
  const { store, id, ends } = await settle(t)
  for (let count = 0; count < 3; count += 1) await assert.rejects(store.logins.get(id), SealError)
  assert.deepEqual(ends, [])
})

test('a row that is damaged in this way does not stop the sealing of the others under a new key', async (t) => {
  const { place, store, id } = await settle(t)
  const { id: other } = await addLogin(store, (await addUser(store)).id)
  await store.close()
  const lines: string[] = []
  const keyC = new Uint8Array(32).fill(3)
  const options = { encryptionKeys: [keyC, keyA], log: noteIn(lines) }
  const rotated = await place.open(options)
  await sleep(100)
  assert.ok(lines.includes('the secret of a login does not open'), lines.join())
  assert.ok(lines.includes('some secrets are still sealed under an older key'), lines.join())
  assert.equal((await rotated.logins.get(other))?.id, other)
  await assert.rejects(rotated.logins.get(id), SealError)
  await rotated.close()
})

test('a key column that is damaged to a key which nothing is sealed with stops no start and no process, and is mended', async (t) => {
  const place = makeMigratedPlace()
  const store = await place.open()
  t.after(() => place.remove())
  const { id, secret } = await addLogin(store, (await addUser(store)).id)
  await store.close()
  await place.tamper("update logins set secret_key = '0123456789abcdef'")
  const ends: Error[] = []
  const lines: string[] = []
  const more = { onLackingKey: (error: Error) => ends.push(error), log: noteIn(lines) }
  const opened = await place.open(more)
  assert.equal((await opened.logins.get(id))?.secret, secret)
  for (let look = 0; look < 100 && lines.length === 0; look += 1) await sleep(20)
  assert.deepEqual(lines, ['every secret is sealed under the first key'])
  assert.equal(await opened.inspector.countAged(10), 0)
  await opened.close()
  assert.deepEqual(ends, [])
})

test('a store whose values name a key that is not listed is not opened, also where other columns are damaged', async (t) => {
  const place = makeMigratedPlace()
  const store = await place.open()
  t.after(() => place.remove())
  for (const _ of [1, 2]) await addLogin(store, (await addUser(store)).id)
  await store.close()
  const foreign = makeSealer([keyB]).current
  await place.tamper(`update logins set secret_key = '${foreign}'`)
  await place.tamper(
    `update logins set secret = x'${sealedByB}' where id = (select max(id) from logins)`,
  )
  await assert.rejects(place.open(), { reason: 'wrong_key' })
})

function noteIn(lines: string[]) {
  return ({ message }: { readonly message: string }) => lines.push(message)
}

/** A store whose rows are sealed with the first key, as a process sees it that lists the second one alone. */
async function openLacking<Added>(t: TestContext, add: (store: Store) => Promise<Added>) {
  const place = makeMigratedPlace()
  const store = await place.open({ reconnectDueAt })
  const added = await add(store)
  await store.close()
  const engine = openSqlite(place.dataDir, () => {})
  t.after(async () => {
    await engine.close()
    await place.remove()
  })
  const ends: Error[] = []
  const toLackError = reportOnce('ENCRYPTION_KEY', (error) => ends.push(error))
  const sealer = makeSealer([keyB], toLackError)
  return { ...added, engine, toLackError, sealer, ends }
}

test('whatever another process sealed with a key that this one lacks is unavailable, and one report says so', async (t) => {
  const stage = await openLacking(t, async (store) => {
    const { user, login, connection } = await addLink(store)
    const endpoint = await addEndpoint(store, user.id)
    const [event] = await accept(store, [newEvent(user.id, connection.id)])
    assert(event !== undefined)
    await store.ledgers.begin(user.id)
    const factor = { userId: user.id, secret: someHash(), at: now, step: 0, codeHashes: [] }
    await store.secondFactors.create(factor)
    const grant = await addGrant(store, user.id)
    const { id: rowId } = await addOAuthRow(store, { model: 'Agent', grantId: grant.id })
    await addOAuthRow(store, { grantId: grant.id })
    const matter = { kind: 'key-created', name: 'laptop', byOperator: false } as const
    await store.mails.queue({ key: 'mail', userId: null, matter, at: now })
    const ids = { login: login.id, user: user.id, endpoint: endpoint.id, event: event.id }
    return { ids: { ...ids, grant: grant.id, row: rowId } }
  })
  const { ids, engine, sealer } = stage
  const feed = <News>() => makeFeed<News>(() => {}, 'a listener failed')
  const write = makeWrite(engine, { changes: feed(), work: feed(), arrivals: feed() })
  const parts = { engine, write, sealer, opened: makeOpenedEndpoints(sealer) }
  const [logins, oauth, endpoints] = [
    makeLoginStore(parts),
    makeOAuthStore(parts),
    makeEndpointStore(parts),
  ]
  const mails = makeMailStore({ ...parts, mails: { reconnectDueAt, sealer, now: () => now } })
  const due = { now, leaseMs: 1, limit: 1 }
  for (const open of [
    () => logins.get(ids.login),
    () => logins.list(ids.user),
    () => endpoints.list(ids.user),
    () => endpoints.find(ids.endpoint),
    () => endpoints.readSecrets(ids.endpoint),
    () => endpoints.rotate(ids.endpoint, 'whsec_new', now),
    () => makeDeliveryStore(parts).claimEndpoints({ ...due, unhealthy: false }),
    () => makeEventStore(parts).open(ids.event),
    () => makeLedgerStore(parts).readKey(ids.user),
    () => makeLedgerStore(parts).checkKey(ids.user, () => {}),
    () => makeSecondFactorStore(parts).find(ids.user),
    () => oauth.find('Agent', ids.row),
    () => oauth.findGrant(ids.grant),
    () => oauth.listAgents(ids.user, now),
    () => mails.claim(due),
  ])
    await assert.rejects(open, StoreUnavailableError, String(open))
  assert.equal(stage.ends.length, 1)
})

test('a process that opens nothing finds out within a minute that others seal with a key which it lacks', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { engine, sealer, toLackError, ends } = await openLacking(t, async (store) => {
    await addLogin(store, (await addUser(store)).id)
    return {}
  })
  const stopWatch = watchKeys({ places: engine, sealer, toLackError, log: () => {} })
  t.mock.timers.tick(60_000)
  await sleep(50)
  assert.match(String(ends[0]), /ENCRYPTION_KEY of this process lacks the key/)
  stopWatch()
})
