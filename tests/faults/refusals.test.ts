/**
 * Providers that refuse or fall silent about why: 401 once and for ever, 429, a consent that is gone while
 * the answers are still 200. For every reading: the answer to the caller, the status of the connection, the
 * report to the operator.
 */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import type { EmulatorReply, Misbehaviour } from '#sandbox/emulator.ts'
import type { FaultControls } from '#sandbox/fault-controls.ts'
import { sandboxProviders } from '#sandbox/magic-users.ts'
import { type Answer, codeOf, type Service, startService } from '#tests/support/service.ts'
import { assertSick, assertWell, makeSetting, type Reading, type Setting } from './readings.ts'

let service: Service
let setting: Setting
before(async () => {
  service = await startService({ env: { CONCURRENCY_HEAVY: '20' } })
  setting = await makeSetting(service)
})
afterEach(async () => {
  setting.mend()
  await renewAll()
})
after(() => service?.close())

const faultControls = (): readonly FaultControls[] => {
  return sandboxProviders.map((name) => service.sandbox[name].faultControls)
}

/** Consents live again, and the connections with them: what an operator's refresh finds out. */
async function renewAll(): Promise<void> {
  for (const { consent } of faultControls()) consent.renew('healthy')
  for (const { connection } of setting.readings) {
    await service.app.connections.refreshConnection(byOperator, connection.id, { priority: 'user' })
  }
  assert.deepEqual(new Set(await setting.statuses()), new Set(['active']))
}

const reply = (given: EmulatorReply): Misbehaviour => ({ kind: 'reply', reply: given })
const ask = (reading: Reading) => service.get(reading.nextPath(), setting.user)
const of = (provider: Reading['provider']) =>
  setting.readings.filter((reading) => reading.provider === provider)

function breakOne({ emulator, when }: Reading, does: Misbehaviour, times?: number): void {
  emulator.addFault({ when, does, ...(times === undefined ? {} : { times }) })
}

async function statusOf({ connection }: Reading): Promise<string | undefined> {
  return (await service.app.store.connections.find(connection.id))?.status
}

/** What monitors read of alerts for one provider. */
async function countAlerts(provider: string): Promise<number> {
  const pattern = new RegExp(
    `^tributary_provider_alerts_total\\{provider="${provider}"\\} (\\d+)$`,
    'm',
  )
  return Number(pattern.exec(await service.metrics.text())?.[1] ?? 0)
}

async function breakerOf({ provider, connection }: Reading): Promise<string> {
  const key = `${provider}:${setting.user.id}:${connection.id}`
  return (await service.app.kv.breakers.check(key)).kind
}

const unauthorised = reply({ status: 401, body: { message: 'unauthorised' } })

test('R20a: a single 401 of Fiskil costs a fresh token and nothing else', async () => {
  for (const reading of of('fiskil')) {
    breakOne(reading, unauthorised, 1)
    const before = await countAlerts('fiskil')
    assertWell(reading, await ask(reading))
    assert.equal(await countAlerts('fiskil'), before)
  }
})

test('R20a: a lasting 401 of Fiskil concerns our credentials: 503 or nulls, an alert each time, no breaker, no lost consent', async () => {
  for (const reading of of('fiskil')) {
    breakOne(reading, unauthorised)
    const before = await countAlerts('fiskil')
    const asked = reading.emulator.requests.filter(reading.when).length
    for (let request = 0; request < 5; request += 1) assertSick(reading, await ask(reading))
    assert.equal(await countAlerts('fiskil'), before + 5, reading.name)
    assert.equal(reading.emulator.requests.filter(reading.when).length, asked + 10)
    assert.equal(await statusOf(reading), 'active')
    assert.equal(await breakerOf(reading), 'closed')
    setting.mend()
    assertWell(reading, await ask(reading))
  }
})

test('R20: a 401 of Akahu concerns the person’s token: every login of it is invalidated, and served again once it works', async () => {
  for (const reading of of('akahu')) {
    breakOne(reading, unauthorised)
    assertRefused(reading, await ask(reading), /^Upstream rejected request: unauthorised$/)
    for (const other of await service.app.store.connections.list(setting.user.id)) {
      assert.equal(other.status, other.provider === 'akahu' ? 'invalidated' : 'active')
    }
    assert.equal(await countAlerts('akahu'), 0)
    assert.equal(await breakerOf(reading), 'closed')
    setting.mend()
    assertWell(reading, await ask(reading))
    await renewAll()
  }
})

test('R20, R20a: a 401 of SnapTrade about our signature is our failure, one about the user is shown to the caller', async () => {
  for (const reading of of('snaptrade')) {
    const ours = reply({
      status: 401,
      body: { detail: 'Unable to verify signature', code: '1076' },
    })
    breakOne(reading, ours)
    const before = await countAlerts('snaptrade')
    assertSick(reading, await ask(reading))
    assert.equal(await countAlerts('snaptrade'), before + 1)
    setting.mend()
    breakOne(reading, reply({ status: 401, body: { detail: 'No access', code: '1083' } }))
    assertRefused(reading, await ask(reading), /^Upstream rejected request: No access$/)
    assert.equal(await statusOf(reading), 'active', 'the connection itself says that it stands')
    assert.equal(await countAlerts('snaptrade'), before + 1)
    setting.mend()
    assertWell(reading, await ask(reading))
  }
})

/** Without a wait in the answer: Up's budget is of the hour, the others' of less. */
function silentWait({ provider }: Reading): number {
  const hourMs = 3_600_000
  return provider === 'up' ? Math.ceil((hourMs - (service.clock.now() % hourMs)) / 1000) : 30
}

for (const [header, seconds] of [
  ['17', 17],
  [null, 30],
] as const) {
  const name = header === null ? 'without' : 'with'
  test(`R20, R21: 429 ${name} Retry-After: ${seconds} s or nulls, asked once, a failure for the breaker`, async () => {
    const headers: Record<string, string> = header === null ? {} : { 'retry-after': header }
    for (const reading of setting.readings) {
      breakOne(reading, reply({ status: 429, headers, body: {} }))
      const asked = reading.emulator.requests.filter(reading.when).length
      for (let request = 0; request < 3; request += 1) {
        assertSick(reading, await ask(reading), header === null ? silentWait(reading) : seconds)
      }
      assert.equal(reading.emulator.requests.filter(reading.when).length, asked + 3, reading.name)
      const guarded = reading.name.endsWith('transactions')
      assert.equal(await breakerOf(reading), guarded ? 'open' : 'closed', reading.name)
      assert.equal(await statusOf(reading), 'active')
      setting.mend()
    }
    assert.equal(await countAlerts('akahu'), 0)
  })
}

/** What each provider says when there is nothing. */
const empties: Readonly<Record<string, unknown>> = {
  'fiskil transactions': { transactions: [], links: {} },
  'fiskil balances': { balances: [], links: {} },
  'akahu transactions': { success: true, items: [], cursor: { next: null } },
  'akahu balances': { success: true, items: [] },
  'up transactions': { data: [], links: { prev: null, next: null } },
  'up balances': { data: [], links: { prev: null, next: null } },
  'snaptrade holdings': { results: [] },
  'snaptrade trades': { data: [], pagination: { offset: 0, limit: 1000, total: 0 } },
}
const breakEmpty = (reading: Reading) =>
  breakOne(reading, reply({ status: 200, body: empties[reading.name] }))

test('R20b: an empty answer under an active consent is trusted', async () => {
  for (const reading of setting.readings) {
    breakEmpty(reading)
    const answer = await ask(reading)
    if (reading.tellsNulls) assertSick(reading, answer)
    else assert.deepEqual([answer.status, answer.body.data], [200, []], reading.name)
    // Akahu's list of accounts, from which balances are read, also shows the state of its consents.
    const reported = reading.name === 'akahu balances' ? 'revoked' : 'active'
    assert.equal(await statusOf(reading), reported, reading.name)
    setting.mend()
    await renewAll()
  }
})

const ends: readonly (readonly [string, RegExp, (faultControls: FaultControls) => void])[] = [
  // SnapTrade knows no consent that runs out, but a login that was disabled.
  ['has run out', /login disabled, reconnect$/, ({ consent }) => consent.expire('healthy')],
  ['was withdrawn', /consent withdrawn, reconnect$/, ({ consent }) => consent.revoke('healthy')],
]
for (const [name, brokers, end] of ends) {
  test(`R20b: an empty 200 after the consent ${name} is a refusal that says so, never an empty list`, async () => {
    for (const reading of setting.readings.filter(({ tellsNulls }) => !tellsNulls)) {
      breakEmpty(reading)
      for (const controls of faultControls()) end(controls)
      const isBroker = reading.name.startsWith('snaptrade')
      const words = isBroker
        ? brokers
        : /consent withdrawn, reconnect$|Invalid or revoked|Up refuses this token/
      assertRefused(reading, await ask(reading), words)
      assert.notEqual(await statusOf(reading), 'active', reading.name)
      assert.equal(await breakerOf(reading), 'closed', reading.name)
      setting.mend()
      await renewAll()
      assertWell(reading, await ask(reading))
    }
  })
}

test('R20: balances after the consent has expired are null, and are not cached when it is renewed', async () => {
  for (const reading of setting.readings.filter(({ tellsNulls }) => tellsNulls)) {
    for (const controls of faultControls()) controls.consent.expire('healthy')
    const path = reading.nextPath()
    assertSick(reading, await service.get(path, setting.user))
    await renewAll()
    assertWell(reading, await service.get(path, setting.user))
  }
})

/** Refused with the provider’s or our words; balances are nulls instead (reading R20). */
function assertRefused(reading: Reading, answer: Answer, message: RegExp): void {
  if (reading.tellsNulls) {
    assertSick(reading, answer)
    return
  }
  assert.deepEqual(
    [answer.status, codeOf(answer)],
    [400, 'upstream_bad_request'],
    `${reading.name}: ${answer.text}`,
  )
  assert.match(answer.body.error.message, message, reading.name)
  assert.equal(answer.headers['retry-after'], undefined)
}
