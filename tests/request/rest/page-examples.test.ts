/** Requests that the documents show, as they are written, on a running service (readings R40, R41, R44). */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, test } from 'node:test'
import { request } from 'undici'
import { byOperator } from '#contract/actor.ts'
import { startService } from '#tests/support/service.ts'
import { makeConnectionEvents } from '#webhooks/accept-connection-events.ts'

const service = await startService({ env: { MCP_EXTRA_TOOLS: 'true' } })
const user = await service.createUser()
await service.link(user, 'healthy', 'fiskil')
after(() => service.close())

/** The first example of a page, and the answer that it shows; null: it shows none. */
async function readExample(page: string) {
  const text = await readFile(new URL(`../../../docs/${page}`, import.meta.url), 'utf8')
  const [, line = '', shown] =
    /<!-- example -->\n```sh\n(curl .*)\n```\n(?:\n```json\n([\s\S]*?)\n```\n)?/.exec(text) ??
    assert.fail(page)
  return { line, shown: shown === undefined ? null : JSON.parse(shown) }
}

/** What a shell would make of it: the words of the line without their quotation marks. */
async function run(line: string): Promise<unknown> {
  const filled = line.replaceAll('$KEY', user.key).replaceAll('$BASE_URL', service.baseUrl)
  const words = [...filled.matchAll(/"([^"]*)"(?= |$)|'([^']*)'|(\S+)/g)].map(
    ([, double, single, plain]) => double ?? single ?? plain ?? '',
  )
  assert.deepEqual(words.slice(0, 2), ['curl', '-s'])
  const after = (flag: string) =>
    words.flatMap((word, at) => (words[at - 1] === flag ? [word] : []))
  const headers = Object.fromEntries(after('-H').map((text) => text.split(': ')))
  const [body] = after('-d')
  const url = words.find((word) => word.startsWith(service.baseUrl)) ?? assert.fail(line)
  const method = body === undefined ? 'GET' : 'POST'
  const answer = await request(url, { method, headers, body: body ?? null })
  assert.equal(answer.statusCode, 200, line)
  return answer.body.json()
}

/** Everything that the page shows is there, by its name. */
function assertHas(answer: unknown, shown: unknown, path: string): void {
  if (Array.isArray(shown)) {
    assert.ok(Array.isArray(answer), path)
    if (shown.length > 0) assertHas(answer[0], shown[0], `${path}[0]`)
  } else if (typeof shown === 'object' && shown !== null) {
    assert.ok(typeof answer === 'object' && answer !== null, path)
    const fields = answer as Readonly<Record<string, unknown>>
    for (const [name, part] of Object.entries(shown)) {
      assert.ok(name in fields, `${path}.${name}`)
      assertHas(fields[name], part, `${path}.${name}`)
    }
  }
}

test('R44: the example of sums works as it is written', async () => {
  const { line, shown } = await readExample('agents.md')
  assertHas(await run(line), shown, 'answer')
})

test('R40, R41: the examples of freshness and of events about connections work as they are written', async () => {
  const events = await readExample('events.md')
  // The consumer gets the events from its first request on.
  await service.get('/v1/events?consumer=consents', user)
  const waiting = run(events.line)
  service.clock.advance(60_000)
  for (const consent of service.sandbox.fiskil.people.healthy?.consents ?? [])
    consent.active = false
  const [connection] = await service.app.store.connections.list(user.id)
  assert.ok(connection !== undefined)
  await assert.rejects(service.app.syncs.runSync(byOperator, connection.id))
  // What a worker does.
  await makeConnectionEvents(service.app.store).run(new AbortController().signal)
  const { data } = (await waiting) as { data: { type: string; data: { status: string } }[] }
  assert.match(data[0]?.type ?? '', /^connection\.(?:revoked|invalidated)$/)
  const { line, shown } = await readExample('contract.md')
  const answer = (await run(line)) as { data: { id: string; status: string }[] }
  // Another bank of the person may not have been read since.
  const lost = answer.data.filter(({ id }) => id === connection.id)
  assert.equal(lost[0]?.status, 'revoked')
  assertHas({ data: lost }, shown, 'answer')
})
