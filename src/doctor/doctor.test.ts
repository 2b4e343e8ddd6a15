/** What the doctor reports about faulty installations, and how long it takes at most. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openMemoryKv } from '#fast/memory.ts'
import { openKv } from '#fast/open.ts'
import { makeRecentFailures } from '#providers/recent-failures.ts'
import { makeGround } from '#tests/adapters/enablebanking/harness.ts'
import { openSetting } from '#tests/adapters/fiskil/harness.ts'
import { makeMigratedPlace } from '#tests/contract/store/place.ts'
import { compareClocks } from './clocks.ts'
import { type DoctorOptions, type Finding, makeDoctor } from './doctor.ts'
import { realMachine } from './machine.ts'

const gibibyte = 1024 ** 3
const clock = { now: () => Date.UTC(2026, 10, 20, 3, 15) }
const nowhere = 'http://127.0.0.1:1'

const installation: DoctorOptions['installation'] = {
  version: '9.9.9',
  mode: 'live',
  role: 'api',
  given: [],
  environmentFile: null,
  warnings: [],
  storeDir: '/srv/tributary',
  hasDatabase: false,
  hasRedis: false,
  encryptionKeyCount: 1,
}

const machine: DoctorOptions['machine'] = {
  freeBytes: async () => 10 * gibibyte,
  loopDelayMs: async () => 1,
}

/** A healthy embedded installation, except for the given overrides. */
async function diagnose(t: TestContext, over: Partial<DoctorOptions> = {}) {
  const place = makeMigratedPlace()
  const store = await place.open()
  const kv = openMemoryKv({ clock, cacheMaxBytes: 1_000_000, cacheMaxEntryBytes: 100_000 })
  t.after(async () => {
    await kv.close()
    await store.close()
    await place.remove()
  })
  const failures: string[] = []
  const examine = makeDoctor({
    store,
    kv,
    adapters: {},
    clock,
    mail: null,
    failures: { reads: makeRecentFailures(clock), syncs: makeRecentFailures(clock) },
    installation,
    machine,
    origins: () => ({ base: nowhere, mcp: nowhere, auth: nowhere }),
    onFailure: (check) => void failures.push(check),
    ...over,
  })
  return { examine, failures, diagnosis: await examine() }
}

function find(findings: readonly Finding[], name: string): Finding {
  const found = findings.filter((finding) => finding.name === name)
  assert.equal(found.length, 1, `${name} is looked at once`)
  return found[0] as Finding
}

test('what is set is shown as it was masked, and every warning of the configuration is a finding', async (t) => {
  const given = [
    { name: 'PORT', shown: '8080' },
    { name: 'DATABASE_URL', shown: '[secret]' },
  ]
  const warnings = ['ADMIN_HOST is not a loopback address.', 'SANDBOX is true.']
  const { diagnosis } = await diagnose(t, { installation: { ...installation, given, warnings } })
  const found = find(diagnosis.checks, 'configuration')
  assert.equal(
    found.message,
    'Tributary 9.9.9, live mode, role api; set are PORT=8080, DATABASE_URL=[secret]',
  )
  assert.equal(find(diagnosis.checks, 'configuration:1').message, warnings[0])
  assert.equal(find(diagnosis.checks, 'configuration:2').status, 'warning')
  // It is true of a variable and of the mode of a file.
  assert.match(
    find(diagnosis.checks, 'configuration:1').action ?? '',
    /^Change what it names.*chmod/,
  )
})

test('a disk that is nearly full is a warning, a full one an error, and with PostgreSQL neither', async (t) => {
  const levels: [number, boolean, Finding['status']][] = [
    [2 * gibibyte, false, 'ok'],
    [gibibyte / 2, false, 'warning'],
    [1_000_000, false, 'error'],
    [1_000_000, true, 'ok'],
  ]
  for (const [bytes, hasDatabase, status] of levels) {
    const { diagnosis } = await diagnose(t, {
      installation: { ...installation, hasDatabase, hasRedis: false },
      machine: { ...machine, freeBytes: async () => bytes },
    })
    assert.equal(find(diagnosis.checks, 'disk').status, status, `${bytes} ${hasDatabase}`)
  }
})

test('the real machine measures the free space of a disk and the delay of a blocked event loop', async () => {
  assert.ok((await realMachine.freeBytes(import.meta.dirname)) > 0)
  const watched = realMachine.loopDelayMs(new AbortController().signal)
  await sleep(30)
  const until = performance.now() + 300
  while (performance.now() < until) {}
  assert.ok((await watched) > 200)
})

test('a process that is held up noticeably is a warning', async (t) => {
  const loopDelayMs = async () => 350
  const { diagnosis } = await diagnose(t, { machine: { ...machine, loopDelayMs } })
  const found = find(diagnosis.checks, 'event-loop')
  assert.equal(found.status, 'warning')
  assert.match(found.message, /350 ms/)
})

test('fast state in memory is fine on the embedded store, and a warning with PostgreSQL', async (t) => {
  const embedded = await diagnose(t)
  assert.equal(find(embedded.diagnosis.checks, 'fast-state').status, 'ok')
  const grown = await diagnose(t, { installation: { ...installation, hasDatabase: true } })
  const found = find(grown.diagnosis.checks, 'fast-state')
  assert.equal(found.status, 'warning')
  assert.match(found.action ?? '', /REDIS_URL/)
})

test('an unreachable Redis is an error that says what still works', async (t) => {
  const kv = await openKv({
    redisUrl: 'redis://127.0.0.1:1',
    clock,
    cacheMaxBytes: 1_000_000,
    cacheMaxEntryBytes: 100_000,
    cacheKey: new Uint8Array(32),
  })
  t.after(() => kv.close())
  const { diagnosis } = await diagnose(t, { kv, installation: { ...installation, hasRedis: true } })
  const found = find(diagnosis.checks, 'fast-state')
  assert.equal(found.status, 'error')
  assert.equal(diagnosis.status, 'error')
  assert.match(found.message, /per process/)
})

test('a check that never ends is an error after its time limit, and the other findings are still reported', async (t) => {
  const started = performance.now()
  const { diagnosis, failures } = await diagnose(t, {
    timeoutMs: 100,
    machine: { ...machine, freeBytes: () => new Promise(() => {}) },
  })
  assert.ok(performance.now() - started < 5000)
  const found = find(diagnosis.checks, 'disk')
  assert.deepEqual([found.status, found.message], ['error', 'no answer within 0.1 s'])
  assert.equal(find(diagnosis.checks, 'store').status, 'ok')
  assert.match(found.action ?? '', /file system of \/srv\/tributary/)
  assert.deepEqual(failures, ['disk'], 'the log knows of it')
})

test('a provider that never answers gets the same error and advice as one that is unavailable', async (t) => {
  await using side = await openSetting({ timeoutMs: 20_000 })
  side.emulator.addFault({ does: { kind: 'hang' } })
  const adapters = { fiskil: side.adapter }
  const { diagnosis, failures } = await diagnose(t, { timeoutMs: 100, adapters })
  const found = find(diagnosis.checks, 'provider:fiskil')
  assert.deepEqual([found.status, found.message], ['error', 'no answer within 0.1 s'])
  assert.match(
    found.action ?? '',
    /status page, then FISKIL_BASE_URL and this machine’s outbound connection/,
  )
  assert.deepEqual(failures, ['provider:fiskil'])
})

test('a store that hangs is named as the cause, and the provider is asked all the same', async (t) => {
  const place = makeMigratedPlace()
  const opened = await place.open()
  t.after(async () => {
    await opened.close()
    await place.remove()
  })
  const inspector = { ...opened.inspector, listUse: () => new Promise<never>(() => {}) }
  const store = { ...opened, inspector }
  await using side = await openSetting()
  const { adapter } = side
  const adapters = { fiskil: adapter }
  const { diagnosis } = await diagnose(t, { timeoutMs: 1500, store, adapters })
  const found = find(diagnosis.checks, 'provider:fiskil')
  assert.equal(found.status, 'ok')
  assert.match(found.message, /accepts our credentials; .* who is linked is not known/)
  const access = { ...adapter.access, hasOwnCredentials: false }
  const unasked = { fiskil: { ...adapter, access } }
  const other = await diagnose(t, { timeoutMs: 1500, store, adapters: unasked })
  assert.deepEqual(find(other.diagnosis.checks, 'provider:fiskil'), {
    name: 'provider:fiskil',
    status: 'error',
    message: 'it needs the store: no answer within 0.5 s',
    action: 'Repair the store first',
  })
})

test('a check that fails by an error of ours is reported without its message, which is logged', async (t) => {
  const { diagnosis, failures } = await diagnose(t, {
    machine: { ...machine, freeBytes: () => Promise.reject(new Error('words for the log')) },
  })
  assert.equal(find(diagnosis.checks, 'disk').status, 'error')
  assert.doesNotMatch(JSON.stringify(diagnosis), /words for the log/)
  assert.deepEqual(failures, ['disk'])
})

test('two concurrent requests share one examination, and a later one starts a new one', async (t) => {
  let looks = 0
  const freeBytes = async () => {
    looks += 1
    return 10 * gibibyte
  }
  const { examine } = await diagnose(t, { machine: { ...machine, freeBytes } })
  const [one, two] = await Promise.all([examine(), examine()])
  assert.equal(one, two)
  assert.notEqual(await examine(), one)
  assert.equal(looks, 3)
})

test('several keys and no row under the older ones: ok, and the advice is to remove those', async (t) => {
  const { diagnosis } = await diagnose(t, {
    installation: { ...installation, encryptionKeyCount: 2 },
  })
  const found = find(diagnosis.checks, 'encryption')
  assert.equal(found.status, 'ok')
  assert.match(found.action ?? '', /can be removed from ENCRYPTION_KEY/)
})

test('a clock that differs by at most thirty seconds is ok, a larger difference is a warning with its direction', () => {
  const asked = clock.now()
  const span = { asked, answered: asked + 500 }
  const compare = (theirs: number | null) => compareClocks('clock:x', 'x', theirs, span)
  assert.deepEqual(compare(null), [])
  for (const theirs of [asked, asked - 31_000, asked + 30_500]) {
    assert.equal(compare(theirs)[0]?.status, 'ok', String(theirs - asked))
  }
  const behind = compare(asked - 91_000)[0]
  assert.deepEqual(
    [behind?.status, behind?.message],
    ['warning', 'the clock of x is 90 s behind ours'],
  )
  const ahead = compare(asked + 120_500)[0]
  assert.deepEqual(
    [ahead?.status, ahead?.message],
    ['warning', 'the clock of x is 120 s ahead of ours'],
  )
})

test('a public address without an answer is a warning, one with the answer of another service an error', async (t) => {
  const stranger = createServer((request, response) => {
    if (request.url?.startsWith('/v1'))
      response.writeHead(302, { location: 'https://x.test' }).end()
    // Longer than any answer of ours, so the doctor must not read it to the end.
    else response.end('x'.repeat(1_000_000))
  }).listen(0, '127.0.0.1')
  t.after(() => stranger.close())
  await new Promise((resolve) => stranger.once('listening', resolve))
  const origin = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`
  const { diagnosis } = await diagnose(t, {
    origins: () => ({ base: origin, mcp: origin, auth: nowhere }),
  })
  assert.match(
    find(diagnosis.checks, 'url:BASE_URL').message,
    /answers 302, and the answer is not from this service/,
  )
  assert.equal(find(diagnosis.checks, 'url:MCP_URL').status, 'error')
  const silent = find(diagnosis.checks, 'url:AUTH_URL')
  assert.equal(silent.status, 'warning')
  assert.match(silent.action ?? '', /Try it from outside/)
})

test('in live mode an installation where nobody can be read is a warning; in sandbox mode it is not looked at', async (t) => {
  const live = await diagnose(t)
  const found = find(live.diagnosis.checks, 'links')
  assert.equal(found.status, 'warning')
  assert.match(found.action ?? '', /tributary setup/)
  await using side = await openSetting({})
  const own = await diagnose(t, { adapters: { fiskil: side.adapter } })
  const made = await diagnose(t, { installation: { ...installation, mode: 'sandbox' } })
  for (const { diagnosis } of [own, made]) {
    assert.ok(!diagnosis.checks.some(({ name }) => name === 'links'))
  }
})

test('an application without this server’s redirect URL, or not active yet, is a warning with what to enter', async (t) => {
  await using ground = await makeGround()
  const adapters = { enablebanking: ground.adapter }
  const base = 'https://money.example'
  const origins = () => ({ base, mcp: nowhere, auth: nowhere })
  const own = `${base}/providers/enablebanking/callback`
  const { site } = ground.server
  const look = async () =>
    find((await diagnose(t, { adapters, origins })).diagnosis.checks, 'provider:enablebanking')
  // It ends as ours does, on another server.
  site.redirectUrls = ['https://other.example/providers/enablebanking/callback']
  const missing = await look()
  assert.equal(missing.status, 'warning')
  assert.ok(missing.message.includes(`it does not have the redirect URL ${own}`))
  assert.ok(missing.action?.startsWith(`Enter ${own} as a redirect URL in the control panel`))
  site.redirectUrls = [own]
  assert.equal((await look()).status, 'ok')
  const [application] = site.applications
  assert.ok(application !== undefined)
  application.isActive = false
  const inactive = await look()
  assert.equal(inactive.status, 'warning')
  assert.match(inactive.action ?? '', /^Link an account in the control panel of enablebanking\.com/)
  assert.doesNotMatch(inactive.action ?? '', /Open the page Connections/)
})
