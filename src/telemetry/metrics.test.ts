/** Proves that events are counted under bounded labels and that the output is valid for scrapers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Metrics, makeMetrics } from './metrics.ts'

async function measure(body: (metrics: Metrics) => void | Promise<void>): Promise<string> {
  const metrics = makeMetrics()
  try {
    await body(metrics)
    return metrics.text()
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

test('counters that alerts watch are 0 before their first count, so that their increase is seen', async () => {
  const text = await measure((metrics) => metrics.backgroundRan('sync-claim', 'done'))
  const series = [
    'provider_alerts_total{provider="snaptrade"}',
    'provider_webhooks_total{provider="akahu",outcome="unverified"}',
    'webhook_warnings_total{kind="disabled_gone"}',
    'webhook_warnings_total{kind="disabled_failing"}',
    'background_failures_total{task="sync-claim"}',
  ]
  for (const name of series) assert.equal(sample(text, `tributary_${name}`), 0)
})

test('exchanges, alerts, oddities, breakers, webhooks of providers, refusals and background failures are counted', async () => {
  const text = await measure((metrics) => {
    const exchange = { provider: 'akahu', route: 'GET /accounts', durationMs: 80 } as const
    metrics.exchange({ ...exchange, outcome: 200 })
    metrics.exchange({ ...exchange, outcome: 'aborted' })
    metrics.exchange({ ...exchange, outcome: 99_999 })
    metrics.alert({ provider: 'fiskil', detail: 'credentials refused: never a label' })
    metrics.oddity({ provider: 'snaptrade', what: 'activity type' })
    metrics.breakerOpened('fiskil')
    metrics.providerWebhook('akahu', 'forged')
    metrics.refused('heavy')
    metrics.refused('concurrency')
    metrics.backgroundFailed('finish-deletions')
    metrics.sharedStateUnavailable('limits', true)
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
  const forged = 'tributary_provider_webhooks_total{provider="akahu",outcome="forged"}'
  assert.equal(sample(text, forged), 1)
  assert.equal(sample(text, 'tributary_limit_refusals_total{bucket="concurrency"}'), 1)
  assert.equal(sample(text, 'tributary_background_failures_total{task="finish-deletions"}'), 1)
  assert.equal(sample(text, 'tributary_shared_state_away{connection="limits"}'), 1)
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

test('a blocked event loop shows in its delay, and only until the next scrape', async () => {
  const metrics = makeMetrics()
  try {
    await sleep(60)
    const until = performance.now() + 150
    while (performance.now() < until);
    await sleep(60)
    assert.ok(sample(metrics.text(), 'nodejs_eventloop_lag_max_seconds') > 0.1)
    assert.ok(sample(metrics.text(), 'nodejs_eventloop_lag_max_seconds') < 0.1)
    assert.ok(sample(metrics.text(), 'process_resident_memory_bytes') > 1e6)
    assert.ok(sample(metrics.text(), 'nodejs_heap_size_used_bytes') > 1e6)
  } finally {
    metrics.close()
  }
})

test('attempts and the deliveries that they end, their lag, warnings and shredded payloads are counted', async () => {
  const text = await measure(({ webhooks }) => {
    webhooks.attempt({ outcome: 'retry', durationMs: 40, lagMs: 2000 })
    webhooks.attempt({ outcome: 'succeeded', durationMs: 40, lagMs: null })
    webhooks.attempt({ outcome: 'exhausted', durationMs: 40, lagMs: 200 })
    webhooks.warned('disabled_gone')
    webhooks.shredded(3)
  })
  for (const outcome of ['retry', 'succeeded', 'exhausted']) {
    assert.equal(sample(text, `tributary_delivery_attempts_total{outcome="${outcome}"}`), 1)
  }
  assert.equal(sample(text, 'tributary_deliveries_total{result="succeeded"}'), 1)
  assert.equal(sample(text, 'tributary_deliveries_total{result="exhausted"}'), 1)
  assert.doesNotMatch(text, /result="retry"/)
  const lag = 'tributary_delivery_first_attempt_lag_seconds'
  assert.equal(sample(text, `${lag}_count`), 2)
  assert.equal(sample(text, `${lag}_bucket{le="1"}`), 1)
  assert.equal(sample(text, 'tributary_delivery_attempt_duration_seconds_count'), 3)
  assert.equal(sample(text, 'tributary_webhook_warnings_total{kind="disabled_gone"}'), 1)
  assert.equal(sample(text, 'tributary_events_shredded_total'), 3)
})

test('two sets of metrics in one process share nothing', async () => {
  const other = makeMetrics()
  const text = await measure((metrics) => metrics.refused('cheap'))
  assert.match(text, /bucket="cheap"/)
  assert.doesNotMatch(other.text(), /bucket="cheap"/)
  other.close()
  assert.match(other.contentType, /^text\/plain; version=0\.0\.4/)
})

test('runs of periodic work are counted by task and outcome, with the time of the last good one', async () => {
  const from = Math.floor(Date.now() / 1000)
  const text = await measure((metrics) => {
    metrics.backgroundRan('oauth-sweep', 'done')
    metrics.backgroundRan('oauth-sweep', 'failed')
    metrics.backgroundRan('deletion-sweep', 'failed')
  })
  const runs = 'tributary_background_runs_total'
  assert.equal(sample(text, `${runs}{task="oauth-sweep",outcome="done"}`), 1)
  assert.equal(sample(text, `${runs}{task="oauth-sweep",outcome="failed"}`), 1)
  const last = 'tributary_background_last_success_seconds'
  assert.ok(sample(text, `${last}{task="oauth-sweep"}`) >= from)
  assert.equal(text.includes(`${last}{task="deletion-sweep"}`), false)
})
