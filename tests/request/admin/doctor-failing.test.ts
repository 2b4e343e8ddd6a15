/**
 * What the doctor says of connections that are active and cannot be read: by their syncs and by reads in this
 * process, with the provider's sentence, and by logins that the present variables cannot serve, without a
 * call.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import { request } from 'undici'
import { byOperator } from '#contract/actor.ts'
import type { ProviderAccess } from '#providers/adapters.ts'
import { demoUserTokens, toPersonalTokens } from '#sandbox/akahu/emulator.ts'
import { type Sandbox, startSandbox } from '#sandbox/start.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import {
  makeStillClock,
  type Service,
  type ServiceUser,
  startService,
} from '#tests/support/service.ts'

interface Finding {
  readonly name: string
  readonly status: string
  readonly message: string
  readonly action: string | null
}

async function examine(service: Service): Promise<readonly Finding[]> {
  const response = await request(`${service.adminUrl}/admin/doctor`, {
    headers: { authorization: `Bearer ${service.adminToken}` },
  })
  const { checks } = (await response.body.json()) as { readonly checks: readonly Finding[] }
  return checks
}

const own = toPersonalTokens('healthy')
const clock = makeStillClock()
let sandbox: Sandbox
let service: Service
let user: ServiceUser
let bank: ConnectionRow
let up: ConnectionRow
before(async () => {
  sandbox = await startSandbox({ clock })
  const { access } = sandbox
  assert.ok(access.akahu !== null)
  const akahu = { ...access.akahu, appToken: own.appToken, appSecret: null }
  service = await startService({ clock, access: { ...access, akahu } })
  user = await service.createUser()
  const { connections } = service.app
  const { userToken } = own
  const linked = { provider: 'akahu', userToken }
  const token = sandbox.person('healthy').find(({ provider }) => provider === 'up')
  bank = (await connections.linkConnections(byOperator, user.id, linked))[0] as ConnectionRow
  up = (await connections.linkConnections(byOperator, user.id, token))[0] as ConnectionRow
})
after(async () => {
  await service?.close()
  await sandbox?.close()
})
afterEach(() => {
  sandbox.akahu.clearFaults()
  sandbox.up.clearFaults()
})

const sync = ({ id }: ConnectionRow) =>
  service.app.syncs.runSync(byOperator, id).then(
    () => true,
    () => false,
  )

async function findingOf({ id }: ConnectionRow): Promise<Finding | undefined> {
  return (await examine(service)).find(({ name }) => name === `connection:${id}`)
}

/** Rows of another window each time, so that no cached answer serves it. */
let days = 60
function readRows({ id }: ConnectionRow) {
  days += 1
  const from = new Date(clock.now() - days * 86_400_000).toISOString().slice(0, 10)
  return service.get(`/v1/transactions?connectionId=${id}&from=${from}`, user)
}

test('R20: an address outside Akahu’s allow-list is a finding with code, since when and Akahu’s sentence, and ends with the next sync', async () => {
  assert.equal(await findingOf(bank), undefined)
  const since = new Date(clock.now()).toISOString()
  sandbox.akahu.faultControls.ownApp?.bar('healthy')
  assert.equal(await sync(bank), false)
  const found = await findingOf(bank)
  assert.equal(found?.status, 'warning')
  assert.ok(
    found?.message.includes(`every sync failed since ${since} (rejected): `),
    found?.message,
  )
  assert.match(found?.message ?? '', /allow-list/)
  assert.match(found?.action ?? '', /my\.akahu\.nz, Developers.*`tributary sync run /)
  assert.match(
    (await examine(service)).find(({ name }) => name === 'connections')?.status ?? '',
    /warning/,
  )
  sandbox.akahu.faultControls.ownApp?.admit('healthy')
  assert.equal(await sync(bank), true)
  assert.equal(await findingOf(bank), undefined)
})

test('a read that Akahu refuses for a permission is a finding although the syncs succeed, until a read succeeds', async () => {
  sandbox.akahu.faultControls.ownApp?.withdrawPermission('healthy')
  assert.equal((await readRows(bank)).status, 400)
  const found = await findingOf(bank)
  assert.match(
    found?.message ?? '',
    /its last read failed at .* \(rejected\): .*lacks the permission/,
  )
  sandbox.akahu.faultControls.ownApp?.grantPermission('healthy')
  assert.equal((await readRows(bank)).status, 200)
  assert.equal(await findingOf(bank), undefined)
})

test('R23: a row that cannot be read is a finding that names the field and no data', async () => {
  const body = { success: true, items: [{ _id: 't', amount: 'sekrit' }], cursor: { next: null } }
  sandbox.akahu.addFault({
    when: ({ path }) => path.includes('transactions'),
    does: { kind: 'reply', reply: { status: 200, body } },
  })
  assert.equal((await readRows(bank)).status, 503)
  const found = await findingOf(bank)
  assert.match(found?.message ?? '', /its last read failed at .* \(unreadable\): \S/)
  assert.doesNotMatch(found?.message ?? '', /sekrit/)
  sandbox.akahu.clearFaults()
  await sync(bank)
})

test('an answer that a proxy has compressed is a finding that sends the operator to that proxy first', async () => {
  const reply = { status: 200, headers: { 'content-encoding': 'gzip' }, body: {} }
  sandbox.akahu.addFault({ does: { kind: 'reply', reply } })
  assert.equal((await readRows(bank)).status, 503)
  const found = await findingOf(bank)
  assert.match(found?.message ?? '', /is compressed \(gzip\).*: a proxy on the way may do this$/)
  assert.match(
    found?.action ?? '',
    /^Where the message names a proxy, look at that; else report it/,
  )
  sandbox.akahu.clearFaults()
  await sync(bank)
})

test('the hour of a token of Up that is used up is a finding that says so', async () => {
  sandbox.up.addFault({ does: { kind: 'reply', reply: { status: 429, body: {} } } })
  assert.equal(await sync(up), false)
  const found = await findingOf(up)
  assert.match(found?.message ?? '', /\(throttled\): /)
  assert.match(found?.action ?? '', /allows the next call at 2026-11-21T03:00:00.000Z$/)
})

test('a connection whose key has ended says what its owner does at this provider with this kind of key', async () => {
  const { store } = service.app
  for (const [row, words] of [
    [
      bank,
      /Copy both tokens at my\.akahu\.nz.*connections link \S+@\S+ --provider akahu --user-token - --app-token -/,
    ],
    [up, /Make a new token in the Up app.*connections link \S+@\S+ --provider up --token -/],
  ] as const) {
    await store.connections.setStatus(row.id, 'invalidated')
    assert.match((await findingOf(row))?.action ?? '', words)
  }
})

test('a login that the present variables cannot serve is an error that names them, and no provider is called for it', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'tributary-logins-'))
  t.after(() => rm(dataDir, { recursive: true, force: true }))
  const first = await startService({ clock, dataDir, access: sandbox.access })
  const person = await first.createUser()
  const credentials = [
    { provider: 'akahu', userToken: demoUserTokens.healthy },
    ...sandbox
      .person('healthy')
      .filter(({ provider }) => ['fiskil', 'snaptrade'].includes(provider)),
  ]
  for (const one of credentials)
    await first.app.connections.linkConnections(byOperator, person.id, one)
  const logins = (await examine(first)).filter(({ name }) => name.startsWith('login'))
  await first.close()
  assert.deepEqual(
    logins.map(({ name, status }) => [name, status]),
    [['logins', 'ok']],
  )
  const { akahu, snaptrade } = sandbox.access
  assert.ok(akahu !== null && snaptrade !== null)
  const without: ProviderAccess = {
    ...sandbox.access,
    fiskil: null,
    akahu: { ...akahu, appSecret: null },
    snaptrade: { ...snaptrade, clientId: null, consumerKey: null },
  }
  const second = await startService({ clock, dataDir, access: without })
  t.after(() => second.close())
  const before = sandbox.akahu.requests.filter(({ headers }) => headers.authorization).length
  const found = (await examine(second)).filter(({ name }) => name.startsWith('login'))
  const after = sandbox.akahu.requests.filter(({ headers }) => headers.authorization).length
  assert.equal(after, before)
  const messages = found.map(({ message }) => message).join('\n')
  assert.ok(found.every(({ status }) => status === 'error'))
  assert.match(messages, /at akahu .*set AKAHU_APP_TOKEN and AKAHU_APP_SECRET, or link again/)
  assert.match(messages, /at snaptrade .*there is no commercial key now/)
  assert.match(messages, /at fiskil .*FISKIL_CLIENT_ID and FISKIL_CLIENT_SECRET are not set/)
})
