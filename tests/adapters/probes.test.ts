/** The reply of each provider's adapter to a probe, which needs no person, against the emulators. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UpstreamError } from '#providers/failure.ts'
import type { Adapter, CallContext, ProbeReply } from '#providers/port.ts'
import type { Emulator } from '#sandbox/emulator.ts'
import { makeGround } from './akahu/harness.ts'
import { loginOf, openSetting } from './fiskil/harness.ts'
import { ask, startHarness } from './snaptrade/harness.ts'
import { makeJudge } from './snaptrade/schema.ts'
import { makeGround as makeUpGround, startOfTests } from './up/harness.ts'

interface Side extends AsyncDisposable {
  readonly emulator: Emulator
  readonly adapter: Adapter
  readonly alerts: readonly string[]
  readonly now: number
}

/** `wrong`: with credentials of ours that are refused. */
type Open = (options?: { readonly wrong?: true; readonly timeoutMs?: number }) => Promise<Side>

const sides: Readonly<Record<string, Open>> = {
  async fiskil({ wrong, timeoutMs = 5000 } = {}) {
    const side = await openSetting({ timeoutMs, ...(wrong ? { clientSecret: 'no-such' } : {}) })
    return Object.assign(side, { now: side.clock.ms })
  },
  async akahu({ wrong, timeoutMs = 5000 } = {}) {
    const side = await makeGround({ timeoutMs, ...(wrong ? { appSecret: 'no-such' } : {}) })
    return Object.assign(side, { emulator: side.akahu, now: Date.parse('2026-11-20T21:15:00Z') })
  },
  async snaptrade({ wrong, timeoutMs = 5000 } = {}) {
    const side = await startHarness({ timeoutMs, ...(wrong ? { consumerKey: 'no-such' } : {}) })
    return Object.assign(side, { alerts: side.recorded.alerts, now: side.clock.ms })
  },
  async up({ timeoutMs = 5000 } = {}) {
    const side = await makeUpGround({ timeoutMs })
    return Object.assign(side, { emulator: side.up, now: startOfTests })
  },
}

const call = (signal = new AbortController().signal): CallContext => ({ signal, priority: 'user' })

function probe(side: Side, signal?: AbortSignal): Promise<ProbeReply> {
  assert.ok(side.adapter.probe, 'the adapter can be asked')
  return side.adapter.probe(call(signal))
}

/** Up knows no credentials of ours that it could refuse. */
const strict = Object.entries(sides).filter(([name]) => name !== 'up')
for (const [name, open] of strict) {
  test(`R20a: when ${name} refuses our credentials, the reply has its time, an alert is raised, and no secret is shown`, async () => {
    await using side = await open({ wrong: true })
    const { theirTimeMs, failure } = await probe(side)
    assert.equal(failure?.kind, 'misconfigured')
    assert.equal(theirTimeMs, side.now)
    assert.equal(side.alerts.length, 1)
    assert.doesNotMatch(JSON.stringify([failure, side.alerts]), /no-such/)
  })
}

for (const [name, open] of Object.entries(sides)) {
  test(`the probe of ${name} reports that it answers, accepts our credentials, and its time`, async () => {
    await using side = await open()
    assert.deepEqual(await probe(side), { theirTimeMs: side.now, failure: null })
    assert.deepEqual(side.alerts, [])
  })

  test(`the failures of ${name} have kinds of their own`, async () => {
    await using side = await open()
    side.emulator.addFault({
      times: 1,
      does: { kind: 'reply', reply: { status: 503, body: { message: 'maintenance' } } },
    })
    assert.equal((await probe(side)).failure?.kind, 'unavailable')
    side.emulator.addFault({ times: 1, does: { kind: 'reply', reply: { status: 429 } } })
    assert.equal((await probe(side)).failure?.kind, 'throttled')
    assert.equal((await probe(side)).failure, null)
  })

  test(`a server without the paths of ${name}, such as the host of a base URL without its version, is not taken for it`, async () => {
    await using side = await open()
    side.emulator.addFault({ does: { kind: 'reply', reply: { status: 404, body: {} } } })
    const { failure } = await probe(side)
    assert.ok(failure?.kind === 'rejected' || failure?.kind === 'misconfigured')
    assert.equal(failure.status, 404)
  })

  test(`a server that answers 200 to everything is not taken for ${name}`, async () => {
    await using side = await open()
    side.emulator.addFault({ does: { kind: 'reply', reply: { status: 200, body: {} } } })
    const kind = (await probe(side)).failure?.kind
    assert.ok(kind === 'malformed' || kind === 'misconfigured')
  })

  test(`${name} that does not answer is an UpstreamError, and our own time limit ends the call`, async () => {
    await using side = await open({ timeoutMs: 200 })
    side.emulator.addFault({ does: { kind: 'hang' } })
    await assert.rejects(probe(side), (error) => {
      assert.ok(error instanceof UpstreamError)
      return error.failure.kind === 'unavailable'
    })
    const reason = new Error('no time')
    await assert.rejects(probe(side, AbortSignal.abort(reason)), reason)
  })
}

test('Akahu without credentials of ours, asked without its version in AKAHU_BASE_URL, is named with the variable', async () => {
  await using side = await makeGround({ appToken: null, appSecret: null })
  assert.equal((await side.adapter.probe?.(call()))?.failure, null)
  const reply = { status: 404, body: { success: false, message: 'Not found' } }
  side.akahu.addFault({ does: { kind: 'reply', reply } })
  const { failure } = (await side.adapter.probe?.(call())) ?? {}
  assert.equal(failure?.kind, 'rejected')
  assert.match(failure.detail, /nothing at \/me; AKAHU_BASE_URL includes the version/)
})

test('Up, a full app of Akahu and SnapTrade, asked at a wrong base URL, are named with the variable', async () => {
  const namedWith = {
    up: /UP_BASE_URL includes the version/,
    akahu: /AKAHU_BASE_URL includes/,
    snaptrade: /nothing at \/; SNAPTRADE_BASE_URL is .* without a path/,
  }
  for (const [name, words] of Object.entries(namedWith)) {
    await using side = await (sides[name] ?? assert.fail(name))()
    side.emulator.addFault({ does: { kind: 'reply', reply: { status: 404, body: {} } } })
    const { failure } = await probe(side)
    assert.equal(failure?.kind, 'rejected')
    assert.match(failure.detail, words)
  }
})

test('whoever links SnapTrade at a wrong base URL is told the variable', async () => {
  await using harness = await startHarness()
  harness.emulator.addFault({ does: { kind: 'reply', reply: { status: 404, body: '<html>' } } })
  const user = { provider: 'snaptrade', snaptradeUserId: 'me', userSecret: 'secret' } as const
  const own = { provider: 'snaptrade', clientId: 'MINE', consumerKey: 'mine' } as const
  for (const credentials of [user, own]) {
    await assert.rejects(harness.adapter.identify(credentials, call()), (error) => {
      assert.ok(error instanceof UpstreamError)
      assert.match(error.failure.detail, /SNAPTRADE_BASE_URL is/)
      return error.failure.kind === 'rejected' && error.failure.status === 404
    })
  }
})

test('a probe of Fiskil leaves the token in use alone', async () => {
  await using setting = await openSetting()
  const discover = () => setting.adapter.discover(loginOf('eu_sandbox_healthy'), call())
  await discover()
  await setting.adapter.probe?.(call())
  await discover()
  const minted = setting.emulator.requests.filter(({ path }) => path === '/v1/token')
  assert.equal(minted.length, 2)
})

test('the time of a SnapTrade clock far from ours is reported although the signature is refused for it', async () => {
  await using harness = await startHarness()
  harness.emulator.addFault({
    when: ({ path }) => path === '/snapTrade/partners',
    does: { kind: 'edit', edit: (reply) => ({ ...reply, status: 401, body: refusedStamp }) },
  })
  const reply = await harness.adapter.probe?.(call())
  assert.deepEqual(reply, {
    theirTimeMs: harness.clock.ms,
    failure: { kind: 'misconfigured', status: 401, detail: 'Invalid timestamp' },
  })
})

const refusedStamp = { detail: 'Invalid timestamp', status_code: 401, code: '1076' }

test('the emulator describes the client id as the vendor documents it', async () => {
  await using harness = await startHarness()
  const body = await (await ask(harness.emulator, '/snapTrade/partners')).json()
  assert.deepEqual(makeJudge().problems('get', '/snapTrade/partners', body), [])
})

test('a probe of Up is asked without a token, and what is not refused as Up refuses is not Up', async () => {
  await using ground = await makeUpGround()
  const probe = async () => (await ground.adapter.probe?.(call()))?.failure?.kind ?? null
  assert.equal(await probe(), null)
  assert.equal(ground.up.requests[0]?.headers.authorization, undefined)
  for (const reply of [
    { status: 200, body: {} },
    { status: 401, body: '<html>' },
  ]) {
    ground.up.clearFaults()
    ground.up.addFault({ does: { kind: 'reply', reply } })
    assert.equal(await probe(), 'malformed')
  }
})
