import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { keyA, keyB, makeMigratedPlace, openSqliteStore } from '#tests/contract/store/place.ts'
import { addLogin, addUser } from '#tests/contract/store/rows.ts'
import { openSqlite } from '../engine/sqlite-engine.ts'
import { StoreUnavailableError } from '../failure.ts'
import { makeSealer, SealError } from '../seal.ts'
import { watchKeys } from './unlisted-keys.ts'

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

test('a secret that names a key which no row is sealed with is damaged, and the process goes on', async (t) => {
  const { store, id, ends } = await settle(t)
  await assert.rejects(store.logins.get(id), StoreUnavailableError)
  await sleep(50)
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
  await assert.rejects(rotated.logins.get(id), StoreUnavailableError)
  await rotated.close()
})

function noteIn(lines: string[]) {
  return ({ message }: { readonly message: string }) => lines.push(message)
}

test('a process that opens nothing finds out within a minute that others seal with a key which it lacks', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const place = makeMigratedPlace()
  const store = await place.open()
  await addLogin(store, (await addUser(store)).id)
  await store.close()
  const engine = openSqlite(place.dataDir, () => {})
  t.after(async () => {
    await engine.close()
    await place.remove()
  })
  const told = Promise.withResolvers<Error>()
  const watch = watchKeys({
    places: engine,
    listed: makeSealer([keyB]),
    keysIn: 'ENCRYPTION_KEY',
    log: () => {},
    onLacking: told.resolve,
  })
  t.mock.timers.tick(60_000)
  assert.match((await told.promise).message, /^ENCRYPTION_KEY of this process lacks the key/)
  watch.stop()
})
