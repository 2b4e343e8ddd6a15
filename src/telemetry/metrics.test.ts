/** Proves that what happens is counted under bounded labels and that the text is what scrapers read. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Metrics, makeMetrics } from './metrics.ts'

async function measure(body: (metrics: Metrics) => void | Promise<void>): Promise<string> {
  const metrics = makeMetrics()
  try {
    await body(metrics)
    return await metrics.text()
  } finally {
    metrics.close()
  }
}

function sample(text: string, series: string): number {
  const line = text.split('\n').find((one) => one.startsWith(`${series} `))
  assert.ok(line !== undefined, `${series} is missing in\n${text}`)
  return Number(line.slice(series.length + 1))
}

test('a request is counted by door, operation, status and cache, and its time by operation', async () => {
  const event = { door: 'rest', operation: 'list_balances', status: 200, cache: 'MISS' } as const
  const text = await measure((metrics) => {
    metrics.request({ ...event, durationMs: 30 })
    metrics.request({ ...event, durationMs: 700 })
    metrics.request({ ...event, status: 503, durationMs: 1 })
  })
  const labels = 'door="rest",operation="list_balances"'
  assert.equal(sample(text, `tributary_requests_total{${labels},status="200",cache="MISS"}`), 2)
  assert.equal(sample(text, `tributary_requests_total{${labels},status="503",cache="MISS"}`), 1)
  const bucket = 'operation="list_balances",cache="MISS"}'
  assert.equal(sample(text, `tributary_request_duration_seconds_bucket{le="0.1",${bucket}`), 2)
  assert.equal(sample(text, `tributary_request_duration_seconds_count{${bucket}`), 3)
  assert.ok(
    Math.abs(sample(text, `tributary_request_duration_seconds_sum{${bucket}`) - 0.731) < 1e-9,
  )
})

test('exchanges, alerts, oddities, breakers, refusals and background failures are counted', async () => {
  const text = await measure((metrics) => {
    const exchange = { provider: 'akahu', route: 'GET /accounts', durationMs: 80 } as const
    metrics.exchange({ ...exchange, outcome: 200 })
    metrics.exchange({ ...exchange, outcome: 'aborted' })
    metrics.exchange({ ...exchange, outcome: 99_999 })
    metrics.alert({ provider: 'fiskil', detail: 'credentials refused: never a label' })
    metrics.oddity({ provider: 'snaptrade', what: 'activity type' })
    metrics.breakerOpened('fiskil')
    metrics.refused('heavy')
    metrics.refused('concurrency')
    metrics.backgroundFailed('finish-deletions')
    metrics.sharedStateAway(true)
  })
  const route = 'provider="akahu",route="GET /accounts"'
  for (const outcome of ['200', 'aborted', 'other']) {
    const series = `tributary_provider_exchanges_total{${route},outcome="${outcome}"}`
    assert.equal(sample(text, series), 1)
  }
  assert.equal(sample(text, `tributary_provider_exchange_duration_seconds_count{${route}}`), 3)
  assert.equal(sample(text, 'tributary_provider_alerts_total{provider="fiskil"}'), 1)
  const odd = 'tributary_provider_oddities_total{provider="snaptrade",what="activity type"}'
  assert.equal(sample(text, odd), 1)
  assert.equal(sample(text, 'tributary_breaker_openings_total{provider="fiskil"}'), 1)
  assert.equal(sample(text, 'tributary_limit_refusals_total{bucket="concurrency"}'), 1)
  assert.equal(sample(text, 'tributary_background_failures_total{task="finish-deletions"}'), 1)
  assert.equal(sample(text, 'tributary_shared_state_away'), 1)
  assert.doesNotMatch(text, /never a label/)
})

test('labels are bounded: the hundred-and-first oddity and any long one count as other', async () => {
  const text = await measure((metrics) => {
    for (let index = 0; index < 500; index += 1) {
      metrics.oddity({ provider: 'fiskil', what: `kind ${index}` })
    }
    metrics.oddity({ provider: 'akahu', what: 'x'.repeat(101) })
  })
  const series = text.split('\n').filter((line) => line.startsWith('tributary_provider_oddities'))
  assert.equal(series.length, 102)
  assert.equal(
    sample(text, 'tributary_provider_oddities_total{provider="fiskil",what="other"}'),
    400,
  )
})

test('a blocked event loop shows in its delay, and only until somebody looked', async () => {
  const metrics = makeMetrics()
  try {
    await sleep(60)
    const until = performance.now() + 150
    while (performance.now() < until);
    await sleep(60)
    assert.ok(sample(await metrics.text(), 'nodejs_eventloop_lag_max_seconds') > 0.1)
    assert.ok(sample(await metrics.text(), 'nodejs_eventloop_lag_max_seconds') < 0.1)
    assert.ok(sample(await metrics.text(), 'process_resident_memory_bytes') > 1e6)
    assert.ok(sample(await metrics.text(), 'nodejs_heap_size_used_bytes') > 1e6)
  } finally {
    metrics.close()
  }
})

test('two sets of metrics in one process share nothing', async () => {
  const other = makeMetrics()
  const text = await measure((metrics) => metrics.refused('cheap'))
  assert.match(text, /bucket="cheap"/)
  assert.doesNotMatch(await other.text(), /bucket="cheap"/)
  other.close()
  assert.match(other.contentType, /^text\/plain; version=0\.0\.4/)
})
