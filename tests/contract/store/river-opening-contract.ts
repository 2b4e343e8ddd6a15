/**
 * The event river over openings of its store: rotation of its secrets, what is at rest, what broke off,
 * upgrades.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import type { Store } from '#store/ports/store.ts'
import { SealError } from '#store/seal.ts'
import { accept, addEndpoint, claimEndpoint, hour, newEvent, recordAs } from './event-rows.ts'
import { refused, rotate } from './opening-contract.ts'
import { keyA, keyB, makeInPlace, type Place } from './place.ts'
import { addLink, newConnection, now } from './rows.ts'

export function testRiverOpening(makePlace: () => Promise<Place>): void {
  const inPlace = makeInPlace(makePlace)

  test(
    'rotation: keys of ledgers and events, secrets of endpoints and second factors move to the first key',
    inPlace(async (place) => {
      const old = await place.open({ encryptionKeys: [keyA] })
      const { user, connection } = await addLink(old)
      const endpoint = await addEndpoint(old, user.id)
      await old.endpoints.rotate(endpoint.id, 'whsec_new', now + hour)
      await old.ledgers.begin(user.id)
      const secret = new Uint8Array(20).fill(7)
      const factor = { userId: user.id, secret, at: now, step: 1, codeHashes: [] }
      await old.secondFactors.create(factor)
      const event = newEvent(user.id, connection.id)
      await accept(old, [event])
      const read = async (store: Store) => ({
        key: await store.ledgers.readKey(user.id),
        factor: await store.secondFactors.find(user.id),
        secrets: await store.endpoints.readSecrets(endpoint.id),
        url: (await store.endpoints.find(endpoint.id))?.url,
        body: await store.events.open(event.id),
      })
      const before = await read(old)
      assert.equal(before.url, endpoint.url)
      assert.deepEqual(before.factor?.secret, secret)
      await old.close()
      await rotate(place, [keyB, keyA])
      const rotated = await place.open({ encryptionKeys: [keyB] })
      assert.deepEqual(await read(rotated), before)
      await rotated.close()
    }),
  )

  for (const [table, id, message] of [
    ['ledger_keys', 'user_id', 'the key of a ledger does not open'],
    ['second_factors', 'user_id', 'the secret of a second factor does not open'],
    ['webhook_endpoints', 'id', 'the secrets of a webhook endpoint do not open'],
    ['event_keys', 'event_id', 'the key of an event does not open'],
  ] as const)
    test(
      `rotation: a secret of ${table} that was copied to another row is reported, and its key stays needed`,
      inPlace(async (place) => {
        const store = await place.open({ encryptionKeys: [keyA] })
        for (let count = 0; count < 2; count += 1) {
          const { user, connection } = await addLink(store)
          await addEndpoint(store, user.id)
          await store.ledgers.begin(user.id)
          const secret = new Uint8Array(20)
          await store.secondFactors.create({
            userId: user.id,
            secret,
            at: now,
            step: 1,
            codeHashes: [],
          })
          await accept(store, [newEvent(user.id, connection.id)])
        }
        await store.close()
        const tamper = table === 'event_keys' ? place.tamperKeys : place.tamper
        await tamper(`update ${table} set secret = (
          select secret from ${table} as other where other.${id} > ${table}.${id}
        ) where exists (select 1 from ${table} as other where other.${id} > ${table}.${id})`)
        const messages = await rotate(place, [keyB, keyA])
        assert.deepEqual(
          messages.filter((line) => line.includes('open')),
          [message],
        )
        await refused(place, 'wrong_key', { encryptionKeys: [keyB] })
        await (await place.open({ encryptionKeys: [keyB, keyA] })).close()
      }),
    )

  test(
    'a key of another event does not open a payload',
    inPlace(async (place) => {
      const store = await place.open()
      const { user, connection } = await addLink(store)
      const [one, other] = [newEvent(user.id, connection.id), newEvent(user.id, connection.id)]
      await accept(store, [one, other])
      await store.close()
      await place.tamper(`update events set payload = (
        select payload from events as other where other.id = '${other.id}'
      ) where id = '${one.id}'`)
      const again = await place.open()
      await assert.rejects(again.events.open(one.id), SealError)
      assert.notEqual(await again.events.open(other.id), null)
      await again.close()
    }),
  )

  test(
    'R35: no payload, answer, signing secret, URL of an endpoint or key of a ledger is at rest in plain text',
    inPlace(async (place) => {
      const store = await place.open()
      const { user, connection } = await addLink(store)
      const secret = 'whsec_canary4b1f0e7cOfAnEndpoint'
      const url = 'https://receiver-of-a-canary.test/in-5d1e07f2?token=canary-77aa01c2-of-a-query'
      const { id } = await addEndpoint(store, user.id, { secret, url })
      // Random bytes stay as they are when they are compressed.
      const [body, response] = [randomBytes(4096), Buffer.from('canary-c93a-of-an-answer')]
      await accept(store, [newEvent(user.id, connection.id, { body })])
      const claimed = await claimEndpoint(store, id)
      const [due] = await store.deliveries.listDue(id, { now, limit: 1 })
      assert.ok(claimed && due)
      await recordAs(store, claimed.lease, due.id, { attempt: { response } })
      await store.endpoints.rotate(id, 'whsec_another', now + hour)
      await store.ledgers.begin(user.id)
      const key = await store.ledgers.readKey(user.id)
      const hidden = [
        body.subarray(100, 124),
        response,
        Buffer.from(secret),
        ...url
          .split(/[/?]+/)
          .slice(1)
          .map((part) => Buffer.from(part)),
        Buffer.from(key ?? []),
      ]
      const open = await place.readAll()
      await store.close()
      for (const bytes of [open, await place.readAll()]) {
        assert.ok(bytes.includes(id))
        for (const text of hidden) {
          assert.ok(text.byteLength > 10)
          assert.ok(!bytes.includes(text))
          for (const coding of ['hex', 'base64', 'base64url'] as const)
            assert.ok(!bytes.includes(text.toString(coding).replaceAll('=', '').slice(0, 20)))
        }
      }
    }),
  )

  test(
    'URLs of endpoints that an older version stored in plain text are sealed at the next start',
    inPlace(async (place) => {
      const store = await place.open()
      const { user } = await addLink(store)
      const url = 'https://older.example.test/canary-0b7d6c11-of-the-path'
      const { id } = await addEndpoint(store, user.id, { url: 'https://other.example.test/' })
      const gone = await addEndpoint(store, user.id)
      await store.endpoints.delete(gone.id)
      await store.close()
      await place.tamper('alter table webhook_endpoints add column url text')
      await place.tamper(`update webhook_endpoints set url = '${url}'`)
      await place.tamper('update webhook_endpoints set sealed_url = null')
      const again = await place.open()
      assert.deepEqual(
        (await again.endpoints.list(user.id)).map((row) => [row.id, row.url]),
        [[id, url]],
      )
      assert.ok(!(await place.readAll()).includes('canary-0b7d6c11'))
      await again.close()
      await (await place.open()).close()
    }),
  )

  test(
    'an endpoint whose URL does not open is listed without it, gets nothing, and can be removed',
    inPlace(async (place) => {
      const store = await place.open()
      const { user, connection } = await addLink(store)
      const [one, other] = [await addEndpoint(store, user.id), await addEndpoint(store, user.id)]
      await store.close()
      await place.tamper(`update webhook_endpoints set sealed_url = (
        select sealed_url from webhook_endpoints as other where other.id = '${other.id}'
      ) where id = '${one.id}'`)
      const again = await place.open()
      const listed = await again.endpoints.list(user.id)
      assert.equal(listed.find(({ id }) => id === one.id)?.url, '')
      assert.equal(listed.find(({ id }) => id === other.id)?.url, other.url)
      await accept(again, [newEvent(user.id, connection.id)])
      assert.equal((await claimEndpoint(again, one.id))?.secrets, null)
      await again.endpoints.rotate(one.id, 'whsec_new', null)
      assert.equal((await again.endpoints.find(one.id))?.url, '')
      await again.endpoints.delete(one.id)
      await again.close()
    }),
  )

  test(
    'R33: nothing of a destroyed key is left where the keys are, while the store is open',
    inPlace(async (place) => {
      const store = await place.open()
      const { user, connection } = await addLink(store)
      await accept(store, [newEvent(user.id, connection.id)])
      const wrapped = await place.listKeys()
      assert.equal(wrapped.length, 1)
      const [key] = wrapped
      assert.ok(key !== undefined && (await place.readAll()).includes(key))
      assert.equal(await store.events.shred({ acceptedBefore: now + 1, now, limit: 10 }), 1)
      assert.deepEqual(await place.listKeys(), [])
      assert.ok(!(await place.readAll()).includes(key))
      await store.close()
    }),
  )

  test(
    'R33: a shredding that was interrupted after the key is completed by the next call, and the key is destroyed first',
    inPlace(async (place) => {
      const store = await place.open()
      const { user, connection } = await addLink(store)
      const event = newEvent(user.id, connection.id)
      await accept(store, [event])
      await store.close()
      const bounds = { acceptedBefore: now + 1, now: now + 2, limit: 10 }
      const mend = await place.breakWrites('payload')
      const broken = await place.open()
      await assert.rejects(broken.events.shred(bounds), /broken by the test/)
      assert.deepEqual(await place.listKeys(), [])
      assert.equal(await broken.events.open(event.id), null)
      assert.equal((await broken.events.find(event.id))?.shreddedAt, null)
      assert.equal((await broken.events.readBacklog()).events, 1, 'the payload is still there')
      await broken.close()
      await mend()
      const again = await place.open()
      assert.equal(await again.events.shred(bounds), 1)
      assert.equal((await again.events.find(event.id))?.shreddedAt, now + 2)
      assert.deepEqual(await again.events.readBacklog(), { events: 0, bytes: 0 })
      await again.close()
    }),
  )

  test(
    'R33: while the key cannot be destroyed the payload stays, and is not sent again',
    inPlace(async (place) => {
      const store = await place.open()
      const { user, connection } = await addLink(store)
      const { id } = await addEndpoint(store, user.id)
      await accept(store, [newEvent(user.id, connection.id)])
      const claimed = await claimEndpoint(store, id)
      const [due] = await store.deliveries.listDue(id, { now, limit: 1 })
      assert.ok(claimed && due)
      await recordAs(store, claimed.lease, due.id)
      await store.close()
      const mend = await place.breakWrites('keys')
      const bounds = { acceptedBefore: now + 1, now, limit: 10 }
      const broken = await place.open()
      await assert.rejects(broken.events.shred(bounds), /broken by the test/)
      assert.notEqual(await broken.events.open(due.eventId), null)
      assert.equal(await broken.deliveries.replay(due.id, now), null)
      await broken.close()
      await mend()
      const again = await place.open()
      assert.equal(await again.events.shred(bounds), 1)
      assert.equal(await again.events.open(due.eventId), null)
      await again.close()
    }),
  )

  test(
    'a store without its keys (a restored backup) decrypts no payload, and everything else works',
    inPlace(async (place) => {
      const store = await place.open()
      const { user, connection } = await addLink(store)
      const { id } = await addEndpoint(store, user.id)
      const event = newEvent(user.id, connection.id)
      await accept(store, [event])
      await store.close()
      await place.removeKeys()
      const restored = await place.open()
      assert.equal(await restored.events.open(event.id), null)
      const claimed = await claimEndpoint(restored, id)
      const [due] = await restored.deliveries.listDue(id, { now, limit: 1 })
      assert.ok(claimed && due)
      const decision = { kind: 'exhausted' } as const
      const attempt = { status: null, failure: 'lost', response: Buffer.from('x') }
      await recordAs(restored, claimed.lease, due.id, { decision, attempt })
      const [kept] = (await restored.deliveries.find(due.id))?.attempts ?? []
      assert.deepEqual([kept?.failure, kept?.response], ['lost', null])
      const next = newEvent(user.id, connection.id)
      await accept(restored, [next])
      assert.notEqual(await restored.events.open(next.id), null)
      const bounds = { acceptedBefore: now + 1, now, limit: 10 }
      assert.equal(await restored.events.shred(bounds), 1)
      assert.equal((await restored.events.find(event.id))?.shreddedAt, now)
      await restored.close()
    }),
  )

  test(
    'connections of older versions, which had no syncs, are due within an hour, spread over it',
    inPlace(async (place) => {
      const store = await place.open()
      const { user, login } = await addLink(store)
      for (let count = 1; count < 60; count += 1)
        await store.connections.save(newConnection(user.id, login.id))
      const kept = await store.connections.save(
        newConnection(user.id, login.id, { createdAt: now + 9 * hour }),
      )
      await store.close()
      await place.tamper(`delete from syncs where connection_id <> '${kept.id}'`)
      const clock = { now: () => now }
      const upgraded = await place.open({ clock })
      const due = async (at: number) => (await upgraded.syncs.readBacklog(at)).due
      assert.equal(await due(now - 1), 0)
      assert.equal(await due(now + hour), 60)
      const half = await due(now + hour / 2)
      assert.ok(half > 5 && half < 55, `${half} in the first half hour`)
      assert.equal(await due(now + 9 * hour), 61)
      await upgraded.close()
      const again = await place.open({ clock: { now: () => now + 5 * hour } })
      assert.equal((await again.syncs.readBacklog(now + hour)).due, 60, 'made once')
      await again.close()
    }),
  )
}
