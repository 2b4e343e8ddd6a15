/** Traces and metrics by OTLP, as a collector gets them from the running service. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import { type Collector, startCollector } from '#tests/support/otlp-collector.ts'
import { startProcess } from '#tests/support/process.ts'
import { until } from '#tests/support/until.ts'

async function start(t: TestContext, variables: Record<string, string>) {
  const folder = await mkdtemp(join(tmpdir(), 'tributary-otlp-'))
  const running = startProcess({ DATA_DIR: folder, ...variables })
  t.after(async () => {
    running.child.kill('SIGKILL')
    await running.ended
    await rm(folder, { recursive: true, force: true })
  })
  await running.ready()
  return running
}

type Running = Awaited<ReturnType<typeof start>>

async function ask(running: Running, path: string) {
  const key = running.printed('professional')
  const headers = { authorization: `Bearer ${key}` }
  const answer = await request(`${running.printed('REST API')}${path}`, { headers })
  return { status: answer.statusCode, body: JSON.parse(await answer.body.text()) }
}

/** Two reads of one account: the first asks the provider, the second does not. */
async function readTwice(running: Running) {
  const accounts = await ask(running, '/accounts')
  const account = accounts.body.data.find((one: { type: string }) => one.type !== 'investment')
  const path = `/transactions?connectionId=${account.connectionId}&accountId=${account.id}`
  for (const expected of [200, 200]) assert.equal((await ask(running, path)).status, expected)
  return { account, key: running.printed('professional') }
}

async function stop({ child, ended }: Running) {
  child.kill('SIGTERM')
  return ended
}

function callsOf({ spans }: Collector, parentId: string) {
  return spans.filter((span) => span.parentId === parentId)
}

test('a request is a span with the provider calls that it made, a cached one has none', async (t) => {
  await using collector = await startCollector()
  const running = await start(t, {
    OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-collector-key=one%20two,other=3',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
    OTEL_SERVICE_NAME: 'money',
    OTEL_METRIC_EXPORT_INTERVAL: '1000',
  })
  const { account, key } = await readTwice(running)
  assert.equal((await ask(running, '/nothing?token=canary-of-a-query')).status, 404)
  assert.equal((await stop(running)).code, 0)
  const reads = collector.spans.filter(({ name }) => name === 'list_transactions')
  assert.equal(reads.length, 2)
  const [first, second] = reads.toSorted((one, other) =>
    Number(other.durationNanos - one.durationNanos),
  )
  assert.ok(first !== undefined && second !== undefined)
  assert.deepEqual(
    [first, second].map(({ kind, attributes }) => [kind, attributes['tributary.cache']]),
    [
      [2, 'MISS'],
      [2, 'HIT'],
    ],
  )
  assert.equal(first.attributes['http.response.status_code'], '200')
  assert.equal(first.attributes['tributary.door'], 'rest')
  assert.equal(first.resource['service.name'], 'money')
  const calls = callsOf(collector, first.spanId)
  assert.ok(calls.length > 0)
  for (const call of calls) {
    assert.deepEqual([call.kind, call.traceId], [3, first.traceId])
    assert.match(call.name, /^(?:fiskil|akahu|up|simplefin|enablebanking) (?:GET|POST) \//)
  }
  assert.equal(callsOf(collector, second.spanId).length, 0)
  const unknown = collector.spans.find(({ name }) => name === 'rest unknown')
  assert.equal(unknown?.attributes['http.response.status_code'], '404')
  for (const { 'x-collector-key': given, other } of collector.headers) {
    assert.deepEqual([given, other], ['one two', '3'])
  }
  const all = Buffer.concat(collector.bytes).toString('latin1')
  for (const word of [account.id, account.connectionId, account.name, key, 'canary']) {
    assert.equal(all.includes(word), false, word)
  }
})

test('the metrics of /metrics are sent under the same names', async (t) => {
  await using collector = await startCollector()
  const running = await start(t, {
    OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${collector.url}/v1/metrics`,
    OTEL_METRIC_EXPORT_INTERVAL: '1000',
  })
  await readTwice(running)
  const { body } = await request(`${running.printed('Admin API')}/metrics`)
  const text = await body.text()
  const names = [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name = '']) => name)
  assert.ok(names.length > 20)
  const isMissing = (name: string) => !collector.metrics.has(name)
  // The last sending, at the end of the process, has nothing of the store.
  await until('all are sent while it runs', () => !names.some(isMissing))
  assert.equal((await stop(running)).code, 0)
  assert.ok((collector.metrics.get('tributary_requests_total') ?? 0) > 0)
  assert.equal(collector.spans.length, 0)
})

test('a collector that refuses or is away costs its data, and a line of the log and a metric', async (t) => {
  await using refusing = await startCollector(400)
  const running = await start(t, {
    OTEL_EXPORTER_OTLP_ENDPOINT: refusing.url,
    OTEL_METRIC_EXPORT_INTERVAL: '1000',
  })
  await readTwice(running)
  await sleep(1500)
  const { body } = await request(`${running.printed('Admin API')}/metrics`)
  assert.match(await body.text(), /tributary_background_failures_total\{task="otlp"\} [1-9]/)
  const { code, stdout } = await stop(running)
  assert.equal(code, 0)
  assert.match(stdout, /OpenTelemetry data could not be sent/)
  const away = await start(t, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' })
  await readTwice(away)
  assert.equal((await stop(away)).code, 0)
})

test('data that were taken are not lost because the answer is not OTLP: the log says so once', async (t) => {
  await using collector = await startCollector(200, '{"partialSuccess":{}}')
  const running = await start(t, {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_METRIC_EXPORT_INTERVAL: '1000',
  })
  await until('metrics came twice', () => collector.headers.length >= 2)
  const { body } = await request(`${running.printed('Admin API')}/metrics`)
  assert.doesNotMatch(await body.text(), /task="otlp"\} [1-9]/)
  const { code, stdout } = await stop(running)
  assert.equal(code, 0)
  assert.doesNotMatch(stdout, /could not be sent/)
  const lines = stdout.split('\n').filter((line) => line.includes('the answer is not OTLP'))
  assert.equal(lines.length, 1)
  assert.match(
    JSON.parse(lines[0] ?? '').detail,
    /Export succeeded but could not deserialize response/,
  )
})

test('an answer that comes in drops holds traces no longer than the time for one request', async (t) => {
  let arrivedAt = 0
  const dripping = createServer((_, response) => {
    arrivedAt = performance.now()
    const drops = setInterval(() => response.write('x'), 200)
    response.once('close', () => clearInterval(drops))
  })
  await new Promise<void>((resolve) => dripping.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    dripping.closeAllConnections()
    dripping.close()
  })
  const running = await start(t, {
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `http://127.0.0.1:${(dripping.address() as AddressInfo).port}`,
    OTEL_EXPORTER_OTLP_TIMEOUT: '1000',
  })
  await readTwice(running)
  await until('traces came', () => arrivedAt > 0)
  await until('they are given up', async () => {
    const { body } = await request(`${running.printed('Admin API')}/metrics`)
    return /task="otlp"\} [1-9]/.test(await body.text())
  })
  assert.ok(performance.now() - arrivedAt < 20_000)
})
