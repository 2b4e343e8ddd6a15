/**
 * The kit against receivers of events: a good one passes, and each usual mistake is found by the check that
 * claims it.
 */
import assert from 'node:assert/strict'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { runCommand } from '#tests/support/command.ts'
import { findForgery, mintSecret } from '#webhooks/sign.ts'
import type { Report } from './report.ts'

const secret = mintSecret()
const nowSeconds = () => Math.floor(Date.now() / 1000)

interface Event {
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

type Judge = (event: Event) => number

async function startReceiver(t: TestContext, judge: Judge): Promise<string> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { headers } = request
      response.writeHead(judge({ headers, body: Buffer.concat(chunks) })).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`
}

async function examine(t: TestContext, judge: Judge) {
  const url = await startReceiver(t, judge)
  const args = ['conformance', '--receiver', url, '--secret', '-', '--json']
  const { code, out } = await runCommand(args, { input: `${secret}\n` })
  assert(!out.includes(secret))
  const report = JSON.parse(out) as Report
  const failed = report.checks.filter(({ status }) => status === 'fail').map(({ name }) => name)
  assert.equal(code, failed.length === 0 ? 0 : 1)
  return { failed, report }
}

const good: Judge = (event) => (findForgery(event, secret, nowSeconds()) === null ? 204 : 401)

test('a receiver that verifies and accepts keeps every promise', async (t) => {
  const { failed, report } = await examine(t, good)
  assert.deepEqual(failed, [])
  assert.equal(report.passed, 10)
})

const genuine = 'a genuine event is accepted'
const again = 'the same event again is accepted too: it may arrive twice'
const empty = 'an event without rows is accepted'
const large = 'an event of 100 rows and nearly 64 KiB is accepted'
const rotated = 'an event that is also signed with another secret is accepted: secrets are rotated'
const changed = 'a changed body is refused'
const old = 'a timestamp of an hour ago is refused'
const future = 'a timestamp of the next hour is refused'
const another = 'a signature by another secret is refused'
const unsigned = 'an event without a signature is refused'

/** Verifies with the secret but believes every timestamp. */
const timeless: Judge = (event) => {
  const stamp = Number(event.headers['webhook-timestamp'])
  return findForgery(event, secret, stamp) === null ? 204 : 401
}
const seen = new Set<unknown>()
const mistakes: Readonly<Record<string, readonly [Judge, readonly string[]]>> = {
  'that accepts everything': [() => 204, [changed, old, future, another, unsigned]],
  'that accepts nothing': [() => 401, [genuine, again, empty, large, rotated]],
  'that does not look at the time': [timeless, [old, future]],
  'that refuses what it knows': [
    (event) => {
      const id = event.headers['webhook-id']
      if (seen.has(id)) return 409
      seen.add(id)
      return good(event)
    },
    [again],
  ],
  'that reads at most 32 KiB': [
    (event) => (event.body.length > 32_768 ? 413 : good(event)),
    [large],
  ],
  'that expects a row': [(event) => (event.body.includes('"new":[]') ? 422 : good(event)), [empty]],
  'that looks at the first signature alone': [
    ({ headers, body }) => {
      const [first] = String(headers['webhook-signature']).split(' ')
      return good({ headers: { ...headers, 'webhook-signature': first }, body })
    },
    [rotated],
  ],
  'that fails with 500 where it should refuse': [
    (event) => (good(event) === 204 ? 204 : 500),
    [changed, old, future, another, unsigned],
  ],
}

for (const [title, [judge, wanted]] of Object.entries(mistakes)) {
  test(`a receiver ${title} is found`, async (t) => {
    assert.deepEqual((await examine(t, judge)).failed, wanted)
  })
}
