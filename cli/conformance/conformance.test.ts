/**
 * `tributary conformance` against our own service: every promise is kept, politely, and the key is in no
 * output.
 */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { runCommand } from '#tests/support/command.ts'
import { makeStillClock, specified, startService } from '#tests/support/service.ts'
import { makeClient } from './client.ts'
import { serverSubjects } from './conformance.ts'
import { examine as examineAll, type Report } from './report.ts'
import { makeSession } from './session.ts'

const service = await startService({ clock: makeStillClock(Date.now()) })
after(() => service.close())

async function keyOf(plan: 'developer' | 'professional'): Promise<string> {
  const user = await service.createUser({ plan })
  await service.link(user, 'healthy')
  return user.key
}

async function examine(key: string, ...more: readonly string[]): Promise<Report> {
  const args = ['conformance', '--base-url', service.baseUrl, '--key', '-', '--json', ...more]
  const { code, out, err } = await runCommand(args, { input: `${key}\n` })
  assert.equal(err, '')
  const report = JSON.parse(out) as Report
  assert.deepEqual(
    report.checks.filter(({ status }) => status === 'fail'),
    [],
  )
  assert.equal(code, 0)
  assert(!out.includes(key))
  return report
}

const skips = ({ checks }: Report) =>
  checks.filter(({ status }) => status === 'skip').map(({ name, reason }) => `${name}: ${reason}`)

const never = [
  'X-Service-Truncated is only on pages with more rows: no answer was cut short',
  '429 and 503 have Retry-After in seconds: no such answer was seen',
]

test('our own service keeps every promise for a Professional person', async () => {
  const report = await examine(await keyOf('professional'))
  assert.deepEqual(skips(report), [
    'without the plan for brokers, holdings and trades are 403 professional_required: the plan has access to brokers',
    ...never,
  ])
})

test('for a Developer person the checks of brokers are skipped, and the refusal is checked in their place', async () => {
  const report = await examine(await keyOf('developer'))
  const ofBrokers = skips(report).filter((line) =>
    line.endsWith('the plan has no access to brokers'),
  )
  assert.equal(ofBrokers.length, 7)
  assert.equal(skips(report).length, 7 + never.length)
})

test('somebody without any connection has skips and no failures', async () => {
  const { key } = await service.createUser()
  const report = await examine(key)
  assert(report.skipped > 10)
})

test('--quick leaves out the walks over many windows', async () => {
  const report = await examine(await keyOf('professional'), '--quick')
  assert.equal(skips(report).filter((line) => line.endsWith(': --quick')).length, 5)
})

test('under the limits of the contract a whole run waits in time: it never sees 429', async () => {
  const clock = makeStillClock(Date.now())
  const limited = await startService({ clock, env: specified })
  try {
    const user = await limited.createUser()
    await limited.link(user, 'healthy')
    const waits: number[] = []
    const client = makeClient({
      baseUrl: limited.baseUrl,
      key: user.key,
      now: clock.now,
      sleep: async (ms) => {
        waits.push(ms)
        clock.advance(ms)
      },
      tell: () => {},
    })
    const session = makeSession(client, clock.now)
    const findings = await examineAll(serverSubjects, session, { isQuick: false, found: () => {} })
    assert.deepEqual(
      findings.filter(({ status }) => status === 'fail'),
      [],
    )
    assert(waits.length > 0 && waits.every((ms) => ms > 0 && ms <= 61_000), String(waits))
    assert(client.answers.every(({ status }) => status !== 429))
  } finally {
    await limited.close()
  }
})

test('a 429 is waited for as long as it says, and asked again three times at most', async (t) => {
  const server = createServer((_request, response) => {
    response.writeHead(429, { 'retry-after': '7' }).end('{"error":{"message":"Too many requests"}}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const waits: number[] = []
  const client = makeClient({
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    key: 'k',
    now: Date.now,
    sleep: async (ms) => void waits.push(ms),
    tell: () => {},
  })
  await assert.rejects(client.ask('/v1/accounts'), /limits/)
  assert.deepEqual(waits, [7000, 7000])
})

test('a server that lets every request wait, or answers with megabytes, ends the run within its bounds', async (t) => {
  const clock = makeStillClock()
  const limited = { 'x-ratelimit-limit': '1', 'x-ratelimit-remaining': '0' }
  let [headers, length] = [{ ...limited, 'x-ratelimit-reset': '9999999999' } as object, 2]
  const server = createServer((_request, response) => {
    response.writeHead(200, { ...headers }).end('[]'.padEnd(length))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const run = async () => {
    const begun = clock.now()
    const client = makeClient({
      baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      key: 'k',
      now: clock.now,
      sleep: async (ms) => clock.advance(ms),
      tell: () => {},
    })
    await assert.rejects(async () => {
      for (let count = 0; count < 1000; count += 1) await client.ask('/v1/accounts')
    }, /expected a(?:nswers| run) of at most/)
    return { minutes: (clock.now() - begun) / 60_000, requests: client.answers.length }
  }
  assert((await run()).minutes <= 47)
  headers = {}
  length = 20 * 1024 * 1024
  assert((await run()).requests <= 8)
})

test('a server that repeats the key or the admin token in a refusal does not bring it onto the terminal', async (t) => {
  const server = createServer(({ headers }, response) => {
    const error = { message: `no: ${headers.authorization}`, details: [headers.authorization] }
    response.writeHead(401, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const secret = 'a-secret-of-theirs'
  for (const [args, options] of [
    [['conformance', '--base-url', url, '--key', secret], {}],
    [['users', 'list'], { environment: { ADMIN_URL: url, ADMIN_TOKEN: secret } }],
  ] as const) {
    const { code, out, err } = await runCommand(args, options)
    assert.equal(code, 1)
    assert.match(err, /no: Bearer \[secret\]/)
    assert(!(out + err).includes(secret))
  }
})

test('a key that the server does not know, and a server that is not there, are said in one sentence', async () => {
  const ask = (url: string, key: string) =>
    runCommand(['conformance', '--base-url', url, '--key', key])
  const unknown = await ask(service.baseUrl, 'no-key-of-theirs')
  assert.equal(unknown.code, 1)
  assert.match(unknown.err, /The server refuses this key: 401/)
  assert(!(unknown.out + unknown.err).includes('no-key-of-theirs'))
  const garbled = await ask(service.baseUrl, 'no-key☃of-theirs')
  assert.equal(garbled.code, 1)
  assert.doesNotMatch(garbled.out + garbled.err, /of-theirs/)
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  const absent = await ask(`http://127.0.0.1:${port}`, 'k')
  assert.equal(absent.code, 1)
  assert.match(absent.err, /127\.0\.0\.1:\d+: it cannot be reached/)
})

const wrongUsages: Readonly<Record<string, readonly string[]>> = {
  'neither server nor receiver': [],
  'a base URL of another scheme': ['--base-url', 'ftp://example.com'],
  'both server and receiver': ['--base-url', 'http://a.example', '--receiver', 'http://b.example'],
  'a receiver without its secret': ['--receiver', 'http://b.example'],
  'a secret that is none': ['--receiver', 'http://b.example', '--secret', 'x'],
  'a key for a receiver': [
    '--receiver',
    'http://b.example',
    '--secret',
    'whsec_YQ==',
    '--key',
    'k',
  ],
  'an argument without a flag': ['https://example.com'],
}

for (const [title, words] of Object.entries(wrongUsages)) {
  test(`wrong usage, exit code 2: ${title}`, async () => {
    const { code, out, err } = await runCommand(['conformance', ...words])
    assert.equal(code, 2, err)
    assert.equal(out, '')
    assert.match(err, /usage: tributary conformance/)
  })
}
