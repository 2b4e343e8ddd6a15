/**
 * What the doctor says of syncs, deliveries, leases, endpoints, ledgers, event keys and webhooks of
 * providers.
 */
import assert from 'node:assert/strict'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { Adapters } from '#providers/port.ts'
import type { Store } from '#store/ports/store.ts'
import {
  accept,
  addEndpoint,
  claimEndpoint,
  disabled,
  hour,
  minute,
  newEvent,
  paused,
} from '#tests/contract/store/event-rows.ts'
import { makeMigratedPlace, openSqliteStore } from '#tests/contract/store/place.ts'
import { addLink, addUser, now } from '#tests/contract/store/rows.ts'
import type { Installation } from './configuration.ts'
import { checkEndpoints, checkEventKeys, checkLedgers } from './events.ts'
import type { Check, Finding } from './finding.ts'
import { checkProviderWebhooks } from './provider-webhooks.ts'
import { checkDeliveries, checkLeases, checkSyncs } from './work.ts'

const installation: Installation = {
  version: '9.9.9',
  mode: 'live',
  role: 'all',
  given: [],
  environmentFile: null,
  warnings: [],
  storeDir: '/srv/tributary',
  hasDatabase: false,
  hasRedis: false,
  encryptionKeyCount: 1,
}
const clock = { now: () => now }

const look = (check: Check) => check(new AbortController().signal)

async function lookOnce(check: Check): Promise<Finding> {
  const [finding, ...more] = await look(check)
  assert.ok(finding !== undefined && more.length === 0)
  return finding
}

test('due syncs that no worker claims are a warning, after an hour an error, and the advice names the missing worker', async (t) => {
  const store = await openSqliteStore(t)
  const { connection } = await addLink(store, { createdAt: now })
  const at = (ms: number, role: Installation['role'] = 'all') =>
    lookOnce(
      checkSyncs({
        store,
        clock: { now: () => now + ms },
        installation: { ...installation, role },
      }),
    )
  assert.deepEqual(await at(9 * minute), {
    name: 'syncs',
    status: 'ok',
    message: '1 due, 0 running',
    action: null,
  })
  const late = await at(20 * minute)
  assert.equal(late.status, 'warning')
  assert.equal(late.message, '1 due, 0 running; the oldest has been due for 20 min')
  assert.match(late.action ?? '', /^No process takes it/)
  assert.equal((await at(3 * hour)).status, 'error')
  const api = await at(20 * minute, 'api')
  assert.match(api.action ?? '', /^This process does no background work: .*ROLE=worker/)
  const lease = { now: now + 20 * minute, leaseMs: minute, reason: 'operator' } as const
  await store.syncs.claim(connection.id, lease)
  assert.equal((await at(20 * minute)).message, '0 due, 1 running')
})

test('deliveries that no worker claims are reported with how long they have been due', async (t) => {
  const store = await openSqliteStore(t)
  const { user, connection } = await addLink(store)
  await addEndpoint(store, user.id)
  await accept(store, [newEvent(user.id, connection.id)])
  const at = (ms: number) =>
    lookOnce(checkDeliveries({ store, clock: { now: () => now + ms }, installation }))
  assert.deepEqual([(await at(0)).status, (await at(0)).message], ['ok', '1 pending'])
  const late = await at(72 * hour)
  assert.equal(late.status, 'error')
  assert.equal(late.message, '1 pending; the oldest has been due for 3 days')
})

test('a run in progress for too long, and a lease of a clock that was ahead, are named', async (t) => {
  const store = await openSqliteStore(t)
  const check = checkLeases({ store, clock, installation })
  assert.equal((await lookOnce(check)).status, 'ok')
  const { user, connection } = await addLink(store, { createdAt: now - hour })
  const lease = { now: now - hour, leaseMs: hour + minute, reason: 'operator' } as const
  await store.syncs.claim(connection.id, lease)
  const endpoint = await addEndpoint(store, user.id)
  await accept(store, [newEvent(user.id, connection.id)])
  const claimed = await claimEndpoint(store, endpoint.id)
  await store.deliveries.renew(claimed?.lease ?? '', now + 96 * hour)
  const [sync, ahead, ...more] = await look(check)
  assert.deepEqual(more, [])
  assert.equal(sync?.name, `lease:${connection.id}`)
  assert.equal(
    sync?.message,
    `the sync of connection ${connection.id} has been under way for 60 min`,
  )
  assert.match(sync?.action ?? '', /^Restart the process/)
  assert.equal(ahead?.status, 'warning')
  assert.match(
    ahead?.message ?? '',
    /is held for another 4 days: the clock of a process was ahead$/,
  )
  assert.match(ahead?.action ?? '', /Stuck leases/)
})

test('paused and disabled endpoints are named with their owner and what to do, except those that their owner disabled', async (t) => {
  const store = await openSqliteStore(t)
  const check = checkEndpoints(store)
  assert.equal((await lookOnce(check)).message, 'there is none')
  const user = await addUser(store)
  const add = async (health: Parameters<Store['endpoints']['setHealth']>[1]) => {
    const { id } = await addEndpoint(store, user.id)
    await store.endpoints.setHealth(id, health)
    return id
  }
  await add(disabled)
  assert.deepEqual(await look(check), [
    { name: 'endpoints', status: 'ok', message: '1 disabled', action: null },
  ])
  const pausedId = await add(paused)
  const goneId = await add({ ...disabled, disabledReason: 'gone' })
  const failingId = await add({ ...disabled, disabledReason: 'failing' })
  const findings = await look(check)
  const find = (name: string) => findings.find((finding) => finding.name === name)
  assert.equal(find('endpoints')?.message, '1 paused, 3 disabled')
  assert.ok(find(`endpoint:${pausedId}`)?.message.includes(user.email))
  assert.match(find(`endpoint:${pausedId}`)?.action ?? '', /webhooks deliveries/)
  assert.match(find(`endpoint:${goneId}`)?.message ?? '', /disabled: it answered 410$/)
  assert.match(find(`endpoint:${failingId}`)?.message ?? '', /disabled: it failed for five days$/)
  assert.doesNotMatch(JSON.stringify(findings), /example\.test\/hook|whsec_/)
  assert.equal(findings.length, 4)
  const other = await addUser(store)
  for (let count = 0; count < 18; count += 1) {
    const { id } = await addEndpoint(store, other.id)
    await store.endpoints.setHealth(id, paused)
  }
  const many = await look(check)
  assert.deepEqual([many.length, many.at(-1)?.name], [22, 'endpoints:more'])
})

test('endpoints whose URL or secret cannot be decrypted are named once with their owner and what helps', async (t) => {
  const place = makeMigratedPlace()
  const store = await openSqliteStore(t, place)
  const user = await addUser(store)
  const damage = async (column: string) => {
    const { id } = await addEndpoint(store, user.id)
    const db = new DatabaseSync(join(place.dataDir, 'tributary.db'))
    db.prepare(`update webhook_endpoints set ${column} = zeroblob(64) where id = ?`).run(id)
    db.close()
    return id
  }
  const [url, secret] = [await damage('sealed_url'), await damage('secret')]
  await store.endpoints.setHealth(url, paused)
  const [, ...findings] = await look(checkEndpoints(store))
  const said = findings.map(({ name, status, message, action }) => [name, status, message, action])
  const who = `nothing can be sent to the endpoint of ${user.email}`
  assert.deepEqual(
    said.sort(),
    [
      [
        `endpoint:${url}`,
        'error',
        `${who}: its URL cannot be decrypted`,
        `Remove it with \`tributary webhooks remove ${url}\`; ${user.email} creates it again`,
      ],
      [
        `endpoint:${secret}`,
        'error',
        `${who}: its secret cannot be decrypted`,
        `Give it a new one with \`tributary webhooks rotate ${secret}\`, for ${user.email}`,
      ],
    ].sort(),
  )
})

test('R34b: an endpoint without a ledger is an error, a ledger without an endpoint a warning', async (t) => {
  const store = await openSqliteStore(t)
  const check = checkLedgers(store)
  assert.equal((await lookOnce(check)).status, 'ok')
  await store.ledgers.begin((await addUser(store)).id)
  const idle = await lookOnce(check)
  assert.deepEqual([idle.name, idle.status], ['ledgers:idle', 'warning'])
  await addEndpoint(store, (await addUser(store)).id)
  const [without] = await look(check)
  assert.deepEqual([without?.name, without?.status], ['ledgers', 'error'])
  assert.match(
    without?.message ?? '',
    /^users with an endpoint or a consumer and without a ledger: 1;/,
  )
})

test('a file of event keys that others may read is an error with its mode', async (t) => {
  const place = makeMigratedPlace()
  const store = await openSqliteStore(t, place)
  const check = checkEventKeys(store)
  const sound = await lookOnce(check)
  assert.deepEqual([sound.status, sound.action], ['ok', null])
  chmodSync(join(place.dataDir, 'event-keys.db'), 0o644)
  const exposed = await lookOnce(check)
  assert.equal(exposed.status, 'error')
  assert.match(exposed.message, /event-keys\.db is not private: other users .* \(mode 0644\)$/)
  assert.match(exposed.action ?? '', /Event keys and backups/)
})

test('webhooks of a provider: the URL to register, an address that it cannot reach, and the last that led to a sync', async (t) => {
  const store = await openSqliteStore(t)
  const receiver = { receive: () => Promise.reject(new Error('not asked')) }
  const adapters = {
    fiskil: { provider: 'fiskil', access: { off: [] } },
    akahu: { provider: 'akahu', access: { off: [] }, webhooks: receiver },
  } as unknown as Adapters
  const find = async (base: string, mode: Installation['mode'] = 'live') => {
    const findings = await look(
      checkProviderWebhooks({
        adapters,
        store,
        installation: { ...installation, mode },
        origins: () => ({ base, mcp: base, auth: base }),
      }),
    )
    const [fiskil, akahu] = findings
    assert.ok(fiskil !== undefined && akahu !== undefined && findings.length === 2)
    return { fiskil, akahu }
  }
  const { fiskil, akahu } = await find('https://money.example.com')
  assert.deepEqual([fiskil.name, fiskil.status], ['webhooks:fiskil', 'ok'])
  assert.match(fiskil.action ?? '', /set FISKIL_WEBHOOK_SECRET$/)
  assert.equal(akahu.status, 'warning')
  const url = 'https://money.example.com/providers/akahu/webhook'
  assert.ok(akahu.action?.startsWith(`Register ${url} at akahu`))
  for (const base of [
    'http://localhost:3000',
    'http://127.0.0.1:3000',
    'http://[::1]:3000',
    'http://10.0.0.5',
  ]) {
    const internal = (await find(base)).akahu
    assert.equal(internal.status, 'warning', base)
    assert.match(internal.message, /which akahu cannot reach$/)
    assert.equal((await find(base, 'sandbox')).akahu.status, 'ok')
  }
  const { connection } = await addLink(store)
  const options = { now, leaseMs: minute, reason: 'provider' } as const
  const claimed = await store.syncs.claim(connection.id, options)
  assert.ok(claimed?.kind === 'claimed')
  await store.syncs.finish(claimed.sync.runId, {
    outcome: { kind: 'failed', code: 'internal', message: 'it failed' },
    endedAt: now,
    nextDueAt: now + hour,
  })
  const arrived = (await find('https://money.example.com')).akahu
  assert.deepEqual([arrived.status, arrived.action], ['ok', null])
  assert.match(arrived.message, /^the last one led to a sync at \d{4}-/)
})
