/**
 * `GET /admin/doctor` of a whole service: sound, and with each of its providers, people and addresses in
 * trouble.
 */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { request } from 'undici'
import { z } from 'zod'
import { byOperator } from '#contract/actor.ts'
import type { Emulator } from '#sandbox/emulator.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import { addLogin, newConnection } from '#tests/contract/store/rows.ts'
import { type Service, startService } from '#tests/support/service.ts'

const Verdict = z.enum(['ok', 'warning', 'error'])
const Diagnosis = z.strictObject({
  status: Verdict,
  checks: z.array(
    z.strictObject({
      name: z.string().min(1),
      status: Verdict,
      message: z.string().min(1),
      action: z.string().min(1).nullable(),
    }),
  ),
})
type Diagnosis = z.infer<typeof Diagnosis>

const secrets = {
  ADMIN_TOKEN: 'an-admin-token-that-nobody-may-see',
  ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
}

let service: Service
before(async () => {
  // The last one is misspelt: a variable without effect must be reported.
  const settings = { UPSTREAM_TIMEOUT_MS: '400', RATE_LIMIT_HEVY: '5' }
  service = await startService({ env: { ...secrets, ...settings } })
})
after(() => service?.close())
afterEach(() => {
  for (const emulator of emulators()) emulator.clearFaults()
})

const emulators = (): Emulator[] => [
  service.sandbox.fiskil,
  service.sandbox.akahu,
  service.sandbox.snaptrade,
]

async function examine(): Promise<Diagnosis> {
  const response = await request(`${service.adminUrl}/admin/doctor`, {
    headers: { authorization: `Bearer ${service.adminToken}` },
  })
  assert.equal(response.statusCode, 200)
  return Diagnosis.parse(await response.body.json())
}

function find(diagnosis: Diagnosis, name: string) {
  const found = diagnosis.checks.filter((check) => check.name === name)
  assert.equal(found.length, 1, `${name} in ${diagnosis.checks.map((check) => check.name)}`)
  return found[0] as Diagnosis['checks'][number]
}

test('200: every dependency of a healthy service is checked and ok', async () => {
  const { checks } = await examine()
  // How busy the machine of the tests is, is not for them to say.
  const watched = checks.filter(
    ({ name }) => name !== 'event-loop' && !name.startsWith('configuration:'),
  )
  assert.deepEqual(
    watched.map(({ name, status }) => `${name} ${status}`),
    [
      'configuration ok',
      'store ok',
      'encryption ok',
      'rows ok',
      'fast-state ok',
      'provider:fiskil ok',
      'clock:fiskil ok',
      'provider:akahu ok',
      'clock:akahu ok',
      'provider:snaptrade ok',
      'clock:snaptrade ok',
      'provider:up ok',
      'provider:simplefin ok',
      'provider:enablebanking ok',
      'clock:enablebanking ok',
      'logins ok',
      'connections ok',
      'deletions ok',
      'syncs ok',
      'deliveries ok',
      'mail ok',
      'leases ok',
      'endpoints ok',
      'ledgers ok',
      'event-keys ok',
      'webhooks:fiskil ok',
      'webhooks:akahu ok',
      'webhooks:snaptrade ok',
      'webhooks:up ok',
      'webhooks:simplefin ok',
      'webhooks:enablebanking ok',
      'disk ok',
      'url:BASE_URL ok',
      'url:MCP_URL ok',
      'url:AUTH_URL ok',
    ],
  )
  assert.match(find({ status: 'ok', checks }, 'store').message, /^SQLite 3\.\d+/)
})

test('settings are listed, secrets as [secret], and a doubtful setting is a warning', async () => {
  const diagnosis = await examine()
  const { message } = find(diagnosis, 'configuration')
  assert.match(message, /UPSTREAM_TIMEOUT_MS=400/)
  assert.match(message, /ADMIN_TOKEN=\[secret\]/)
  assert.match(message, /ENCRYPTION_KEY=\[secret\]/)
  assert.match(find(diagnosis, 'configuration:1').message, /^RATE_LIMIT_HEVY is not a variable/)
  assert.equal(diagnosis.status, 'warning')
  const text = JSON.stringify([diagnosis, service.logLines])
  for (const secret of Object.values(secrets)) assert.ok(!text.includes(secret))
})

test('401: it is for holders of the admin token alone', async () => {
  const response = await request(`${service.adminUrl}/admin/doctor`)
  assert.equal(response.statusCode, 401)
})

test('R20a: a provider that refuses our app is an error which names the variables to compare', async () => {
  const refusal = { status: 401, body: { message: 'invalid client credentials' } }
  for (const [name, emulator] of Object.entries({
    fiskil: service.sandbox.fiskil,
    akahu: service.sandbox.akahu,
    snaptrade: service.sandbox.snaptrade,
  })) {
    emulator.addFault({
      when: ({ path }) => path !== '/',
      times: 1,
      does: { kind: 'reply', reply: refusal },
    })
    const diagnosis = await examine()
    const found = find(diagnosis, `provider:${name}`)
    assert.equal(found.status, 'error')
    assert.match(
      found.message,
      /^refuses this installation’s own credentials: .*invalid client credentials(?: \(AKAHU_APP_TOKEN with AKAHU_APP_SECRET\))?$/,
    )
    assert.match(found.action ?? '', new RegExp(`${name.toUpperCase()}_[A-Z_]+`))
    assert.equal(diagnosis.status, 'error')
    assert.equal(find(await examine(), `provider:${name}`).status, 'ok')
  }
})

test('providers that hang, fail or throttle are distinguished, and the answer comes within ten seconds', async () => {
  service.sandbox.fiskil.addFault({ does: { kind: 'hang' } })
  service.sandbox.akahu.addFault({ does: { kind: 'reply', reply: { status: 502 } } })
  service.sandbox.snaptrade.addFault({ does: { kind: 'reply', reply: { status: 429 } } })
  const started = performance.now()
  const diagnosis = await examine()
  assert.ok(performance.now() - started < 10_000)
  assert.match(find(diagnosis, 'provider:fiskil').message, /^no answer within 400 ms/)
  assert.match(find(diagnosis, 'provider:akahu').message, /^answers 502/)
  const throttled = find(diagnosis, 'provider:snaptrade')
  assert.deepEqual([throttled.status, throttled.message.slice(0, 12)], ['warning', 'throttles us'])
})

test('a proxy’s page in a provider’s place is an error that doubts its address', async () => {
  service.sandbox.fiskil.addFault({ does: { kind: 'reply', reply: { status: 200, body: '<p>' } } })
  const found = find(await examine(), 'provider:fiskil')
  assert.equal(found.status, 'error')
  assert.match(found.action ?? '', /FISKIL_BASE_URL leads to the provider/)
})

test('a provider whose clock is far from ours is a warning, by its Date or by its status', async () => {
  const off = new Date(service.clock.now() - 300_000)
  service.sandbox.akahu.addFault({
    does: { kind: 'edit', edit: (reply) => ({ ...reply, headers: { date: off.toUTCString() } }) },
  })
  service.sandbox.snaptrade.addFault({
    when: ({ path }) => path === '/',
    does: {
      kind: 'edit',
      edit: (reply) => ({ ...reply, body: { timestamp: off.toISOString(), online: true } }),
    },
  })
  const diagnosis = await examine()
  assert.match(find(diagnosis, 'clock:akahu').message, /299 s behind ours/)
  assert.match(find(diagnosis, 'clock:snaptrade').message, /299 s behind ours/)
  assert.equal(find(diagnosis, 'clock:akahu').status, 'warning')
  assert.equal(find(diagnosis, 'clock:fiskil').status, 'ok')
})

test('connections that are not active are named with their owner and what to do; deletions are counted', async () => {
  const user = await service.createUser()
  const rows = await service.link(user, 'healthy')
  const statuses = ['invalidated', 'pending_mfa', 'revoked', 'deleting'] as const
  const troubled = rows.slice(0, statuses.length)
  for (const [index, status] of statuses.entries()) {
    await service.app.store.connections.setStatus((troubled[index] as ConnectionRow).id, status)
  }
  const diagnosis = await examine()
  const email = (await service.app.store.users.find(user.id))?.email ?? 'nobody'
  const actions = [
    /presses Reconnect .*`tributary connections refresh [^`]+` looks again/,
    /looks again/,
    /presses Reconnect .*or `tributary connections remove/,
    /tries at once/,
  ]
  for (const [index, { id, institutionName, provider }] of troubled.entries()) {
    const found = find(diagnosis, `connection:${id}`)
    assert.equal(found.status, 'warning')
    assert.ok(found.message.startsWith(`${institutionName} (${provider}) of ${email}: `))
    assert.match(found.action ?? '', actions[index] ?? /never/)
  }
  assert.match(find(diagnosis, 'connections').message, /active, 1 invalidated, 1 pending_mfa, 1 re/)
  assert.match(find(diagnosis, 'deletions').message, /^1 pending/)
  await service.app.connections.deleteUser(byOperator, user.id)
  assert.equal(find(await examine(), 'connections').status, 'ok')
})

test('more than fifty that are not active are counted, not listed', async () => {
  const { store } = service.app
  const { id } = await service.createUser()
  const login = await addLogin(store, id)
  for (let count = 0; count < 53; count += 1) {
    await store.connections.save(newConnection(id, login.id, { status: 'revoked' }))
  }
  const diagnosis = await examine()
  const named = diagnosis.checks.filter(({ name }) => /^connection:/.test(name))
  assert.equal(named.length, 50)
  assert.match(find(diagnosis, 'connections:more').message, /^3 more/)
})

test('a provider that is on without configuration is only asked once somebody is linked there', async () => {
  const { up } = service.sandbox
  const before = up.requests.length
  const idle = find(await examine(), 'provider:up')
  assert.deepEqual([idle.status, up.requests.length], ['ok', before])
  assert.equal(idle.message, 'tokens of people: nobody is linked; off: webhooks')
  assert.match(idle.action ?? '', /connections link U --provider up/)
  await service.link(await service.createUser(), 'healthy', 'up')
  const answers = find(await examine(), 'provider:up')
  assert.deepEqual([answers.status, answers.action], ['ok', null])
  assert.match(
    answers.message,
    /^answers; tokens are people’s own; tokens of people of .+@.+: 1 connection, last read 2026-\d\d-\d\dT[^;]+; off: webhooks$/,
  )
  up.addFault({ does: { kind: 'reply', reply: { status: 502 } } })
  const broken = find(await examine(), 'provider:up')
  assert.equal(broken.status, 'error')
  up.clearFaults()
})

test('a bank that its provider has not read for more than 48 hours is a warning with its person', async () => {
  const { store } = service.app
  const user = await service.createUser()
  const login = await addLogin(store, user.id)
  const hour = 3_600_000
  const ages = [49, 47].map((hours) => service.clock.now() - hours * hour)
  const [old] = await Promise.all(
    ages.map((lastRefreshedAt) =>
      store.connections.save(newConnection(user.id, login.id, { lastRefreshedAt })),
    ),
  )
  const diagnosis = await examine()
  const found = diagnosis.checks.filter(({ name }) => name.startsWith('stale:'))
  assert.deepEqual(
    found.map(({ name, status }) => [name, status]),
    [[`stale:${old?.id}`, 'warning']],
  )
  const owner = await store.users.find(user.id)
  assert.match(
    found[0]?.message ?? '',
    new RegExp(`of ${owner?.email} was last refreshed there 2026-`),
  )
})
