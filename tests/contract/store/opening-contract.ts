/** Opening: migrations, modes, keys and their rotation, and what lies at rest. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countMigrations } from '#store/engine/migrate.ts'
import type { OpenFailure } from '#store/failure.ts'
import { StoreOpenError } from '#store/failure.ts'
import { SealError } from '#store/seal.ts'
import { keyA, keyB, makeInPlace, type OpenAs, type Place } from './place.ts'
import { addGrant, addKey, addLink, addLogin, addOAuthRow, addUser } from './rows.ts'

export function testOpening(makePlace: () => Promise<Place>): void {
  const inPlace = makeInPlace(makePlace)

  test(
    'opening again finds everything as it was and migrates nothing',
    inPlace(async (place) => {
      const first = await place.open()
      const { user, connection } = await addLink(first)
      await first.close()
      const lines: string[] = []
      const second = await place.open({ log: ({ message }) => lines.push(message) })
      assert.deepEqual(await second.users.find(user.id), user)
      assert.deepEqual(await second.connections.find(connection.id), connection)
      await second.close()
      assert.deepEqual(lines, [])
    }),
  )

  test(
    'closing twice is closing once, and a closed store refuses work',
    inPlace(async (place) => {
      const store = await place.open()
      await Promise.all([store.close(), store.close()])
      await store.close()
      await assert.rejects(store.users.list())
    }),
  )

  test(
    'a migration that was changed after it ran is refused',
    inPlace(async (place) => {
      await (await place.open()).close()
      await place.tamper("update schema_migrations set checksum = 'other' where number = 1")
      await refused(place, 'changed_migration', {})
    }),
  )

  test(
    'a backup that was restored over the tables of a newer version is refused in one line that says what to do',
    inPlace(async (place) => {
      await (await place.open()).close()
      for (const last of [countMigrations() - 1, 22]) {
        await place.tamper(`delete from schema_migrations where number > ${last}`)
        const { message } = await refused(place, 'mixed_schema', {})
        assert.match(message, /^the store has .* Restore it again into an empty schema/)
      }
    }),
  )

  test(
    'a store of a newer version is refused',
    inPlace(async (place) => {
      await (await place.open()).close()
      await place.tamper("insert into schema_migrations values (9999, '9999_future', 'x')")
      await refused(place, 'newer_schema', {})
    }),
  )

  test(
    'a schema of a newer version opens where its migration admits this one, and says so',
    inPlace(async (place) => {
      const known = countMigrations()
      const first = await place.open()
      const user = await addUser(first)
      await first.close()
      const add = (number: number, name: string, needs: number) =>
        place.tamper(
          `insert into schema_migrations values (${number}, '${name}', '${'0'.repeat(64)} needs ${needs}')`,
        )
      await add(known + 1, 'future', known)
      const messages: string[] = []
      const second = await place.open({ log: ({ message }) => messages.push(message) })
      assert.deepEqual(await second.users.find(user.id), user)
      await second.close()
      assert.match(messages.join(), /the schema is of a newer version/)
      await add(known + 2, 'later', known + 1)
      const { message } = await refused(place, 'newer_schema', {})
      assert.match(message, /migration later/)
    }),
  )

  test(
    'requests that were counted before keys and agents were counted apart are listed beside the others, and swept',
    inPlace(async (place) => {
      const first = await place.open()
      const { id: userId } = await addUser(first)
      const of = { door: 'rest', operation: 'list_accounts', result: 'HIT' } as const
      await first.usage.add([{ userId, day: 7, reader: 'key', requests: 2, ...of }])
      await first.close()
      await place.tamper(
        `insert into usage_days values ('${userId}', 7, 'rest', 'list_accounts', 'HIT', 3)`,
      )
      const second = await place.open()
      assert.deepEqual(await second.usage.list(userId, 0), [{ day: 7, requests: 5, ...of }])
      const readers = await second.usage.listReaders(userId, 0)
      assert.deepEqual(readers.map(({ reader, requests }) => [reader, requests]).sort(), [
        ['before', 3],
        ['key', 2],
      ])
      assert.equal(await second.usage.sweep(8, 10), 2)
      assert.deepEqual(await second.usage.list(userId, 0), [])
      await second.close()
    }),
  )

  test(
    'a store made in one mode does not open in the other',
    inPlace(async (place) => {
      await (await place.open({ mode: 'sandbox' })).close()
      await refused(place, 'wrong_mode', { mode: 'live' })
      await (await place.open({ mode: 'sandbox' })).close()
    }),
  )

  test(
    'an empty store does not open with another key',
    inPlace(async (place) => {
      await (await place.open({ encryptionKeys: [keyA] })).close()
      await refused(place, 'wrong_key', { encryptionKeys: [keyB] })
    }),
  )

  for (const mode of ['live', 'sandbox'] as const)
    for (const encryptionKeysIn of ['ENCRYPTION_KEY', '/data/secrets/encryption-key'])
      test(
        `another key is refused in ${mode} mode by what holds it (${encryptionKeysIn}), only made-up data may go, and the store stays as it was`,
        inPlace(async (place) => {
          await (await place.open({ mode, encryptionKeys: [keyA] })).close()
          const as = { mode, encryptionKeys: [keyB], encryptionKeysIn }
          const { message } = await refused(place, 'wrong_key', as)
          assert.ok(message.startsWith(`${encryptionKeysIn} does not hold every key`), message)
          assert.match(message, /put the missing one back/)
          assert.equal(/remove this store .* made-up data$/.test(message), mode === 'sandbox')
          await (await place.open({ mode, encryptionKeys: [keyA] })).close()
        }),
      )

  test(
    'no message of a refusal shows a key or spans lines',
    inPlace(async (place) => {
      await (await place.open()).close()
      const error = await refused(place, 'wrong_key', { encryptionKeys: [keyB] })
      for (const key of [keyA, keyB])
        for (const coding of ['hex', 'base64'] as const)
          assert.ok(!error.message.includes(Buffer.from(key).toString(coding)))
      assert.ok(!error.message.includes('\n'))
    }),
  )

  test(
    'rotation: secrets move to the first key while the store is open, then the old key may go',
    inPlace(async (place) => {
      const old = await place.open({ encryptionKeys: [keyA] })
      const user = await addUser(old)
      // More than one batch.
      for (let count = 0; count < 130; count += 1) await addLogin(old, user.id, `secret ${count}`)
      const logins = await old.logins.list(user.id)
      const grant = await addGrant(old, user.id)
      const token = await addOAuthRow(old, { grantId: grant.id })
      await old.close()
      await rotate(place, [keyB, keyA])
      const rotated = await place.open({ encryptionKeys: [keyB] })
      assert.deepEqual(await rotated.logins.list(user.id), logins)
      assert.equal((await rotated.oauth.findGrant(grant.id))?.payload, grant.payload)
      assert.equal((await rotated.oauth.find(token.model, token.id))?.payload, token.payload)
      await rotated.close()
      await refused(place, 'wrong_key', { encryptionKeys: [keyA] })
    }),
  )

  test(
    'rotation: the store does not open without a key that some row still needs',
    inPlace(async (place) => {
      const store = await place.open({ encryptionKeys: [keyA] })
      const login = await addLogin(store, (await addUser(store)).id)
      await store.close()
      // Closed at once: the rows may be sealed under either key, so both are needed, and both are enough.
      const [both, either] = [
        [keyB, keyA],
        [keyA, keyB],
      ]
      const half = await place.open({ encryptionKeys: both })
      const fresh = await addLogin(half, login.userId, 'under B')
      const client = await addOAuthRow(half, { model: 'Client' })
      await half.close()
      await refused(place, 'wrong_key', { encryptionKeys: [keyA] })
      const again = await place.open({ encryptionKeys: either })
      assert.equal((await again.logins.get(fresh.id))?.secret, 'under B')
      assert.equal((await again.logins.get(login.id))?.secret, 'secret')
      assert.equal((await again.oauth.find('Client', client.id))?.payload, client.payload)
      await again.close()
    }),
  )

  test(
    'rotation: a damaged secret is reported, and the others move to the new key',
    inPlace(async (place) => {
      const store = await place.open({ encryptionKeys: [keyA] })
      const user = await addUser(store)
      const good = await addLogin(store, user.id, 'good')
      const bad = await addLogin(store, user.id, 'bad')
      await store.close()
      await place.tamper(`update logins set upstream_user_id = 'moved' where id = '${bad.id}'`)
      const messages = await rotate(place, [keyB, keyA])
      assert.ok(messages.includes('the secret of a login does not open'))
      const both = await place.open({ encryptionKeys: [keyB, keyA] })
      assert.equal((await both.logins.get(good.id))?.secret, 'good')
      await assert.rejects(both.logins.get(bad.id), SealError)
      await both.close()
      await refused(place, 'wrong_key', { encryptionKeys: [keyB] })
    }),
  )

  test(
    'a secret that was copied to another user does not open there',
    inPlace(async (place) => {
      const store = await place.open()
      const [mine, theirs] = [await addUser(store), await addUser(store)]
      const target = await addLogin(store, mine.id, 'mine')
      const source = await addLogin(store, theirs.id, 'theirs')
      await store.close()
      await place.tamper(`update logins set secret =
      (select secret from logins where id = '${source.id}') where id = '${target.id}'`)
      const again = await place.open()
      await assert.rejects(again.logins.get(target.id), SealError)
      assert.deepEqual(await again.logins.listIds(mine.id), [target.id])
      await again.close()
    }),
  )

  test(
    'no secret, API key or encryption key is stored in plain text',
    inPlace(async (place) => {
      const secret = 'canary-4b1f0e7c-of-a-login'
      const store = await place.open()
      const user = await addUser(store, { email: 'visible-canary@example.test' })
      await addLogin(store, user.id, secret)
      await addKey(store, user.id)
      await addGrant(store, user.id, { payload: secret })
      await addOAuthRow(store, { payload: secret })
      const open = await place.readAll()
      await store.close()
      for (const bytes of [open, await place.readAll()]) {
        // Proof that the search would find what is there.
        assert.ok(bytes.includes('visible-canary@example.test'))
        for (const hidden of [Buffer.from(secret), Buffer.from(keyA)])
          for (const coding of ['latin1', 'hex', 'base64', 'base64url'] as const)
            assert.ok(!bytes.includes(hidden.toString(coding).replaceAll('=', '')), coding)
        assert.ok(!bytes.includes(Buffer.from(keyA)))
      }
    }),
  )
}

/** Opens, and is refused with this reason. */
export async function refused(
  place: Place,
  reason: OpenFailure,
  as: OpenAs,
): Promise<StoreOpenError> {
  try {
    await (await place.open(as)).close()
  } catch (error) {
    assert.ok(error instanceof StoreOpenError, String(error))
    assert.equal(error.reason, reason)
    return error
  }
  throw new assert.AssertionError({ message: `the store opened, not ${reason}` })
}

/** Opens with the new list, waits until the store says how it went, and closes. */
export async function rotate(
  place: Place,
  encryptionKeys: readonly Uint8Array[],
): Promise<string[]> {
  const messages: string[] = []
  const told = Promise.withResolvers<void>()
  const store = await place.open({
    encryptionKeys,
    log: ({ message }) => {
      messages.push(message)
      if (/sealed under/.test(message)) told.resolve()
    },
  })
  await told.promise
  await store.close()
  return messages
}
