import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeRegistry } from './registry.ts'

const toText = (...lines: readonly string[]) => lines.map((line) => `${line}\n`).join('')

test('metrics are written in the order in which they were made, with help and type before their series', () => {
  const registry = makeRegistry()
  const runs = registry.counter('runs_total', 'Runs.', ['task', 'status'])
  const age = registry.gauge('age_seconds', 'Age.')
  registry.readGauge('memory_bytes', 'Memory.', () => 4096)
  runs.add({ task: 'sweep', status: 200 })
  runs.add({ task: 'sweep', status: 500 }, 2.5)
  runs.add({ task: 'sweep', status: 200 })
  runs.add({ task: 'claim', status: 200 }, 0)
  age.set({}, 3)
  age.set({}, -1)
  assert.equal(
    registry.text(),
    toText(
      '# HELP runs_total Runs.',
      '# TYPE runs_total counter',
      'runs_total{task="sweep",status="200"} 2',
      'runs_total{task="sweep",status="500"} 2.5',
      'runs_total{task="claim",status="200"} 0',
      '',
      '# HELP age_seconds Age.',
      '# TYPE age_seconds gauge',
      'age_seconds -1',
      '',
      '# HELP memory_bytes Memory.',
      '# TYPE memory_bytes gauge',
      'memory_bytes 4096',
    ),
  )
})

test('a counter and a histogram without labels are 0 from the beginning, a gauge is absent until it is set', () => {
  const registry = makeRegistry()
  registry.counter('mails_total', 'Mails.')
  registry.counter('alerts_total', 'Alerts.', ['provider'])
  const gauge = registry.gauge('age_seconds', 'Age.', ['kind'])
  registry.histogram({ name: 'lag', help: 'Lag.', bounds: [1] })
  const empty = registry.text()
  assert.equal(
    empty,
    toText(
      '# HELP mails_total Mails.',
      '# TYPE mails_total counter',
      'mails_total 0',
      '',
      '# HELP alerts_total Alerts.',
      '# TYPE alerts_total counter',
      '',
      '# HELP age_seconds Age.',
      '# TYPE age_seconds gauge',
      '',
      '# HELP lag Lag.',
      '# TYPE lag histogram',
      'lag_bucket{le="1"} 0',
      'lag_bucket{le="+Inf"} 0',
      'lag_sum 0',
      'lag_count 0',
    ),
  )
  gauge.set({ kind: 'due' }, 5)
  assert.match(registry.text(), /^age_seconds\{kind="due"\} 5$/m)
  gauge.clear()
  assert.equal(registry.text(), empty)
  gauge.set({ kind: 'due' }, 6)
  assert.match(registry.text(), /^age_seconds\{kind="due"\} 6$/m)
})

test('a bucket counts the values up to its bound, the bound included, and those of the buckets before it', () => {
  const registry = makeRegistry()
  const lag = registry.histogram({ name: 'lag', help: 'Lag.', bounds: [0.5, 2], labels: ['lane'] })
  for (const value of [0.25, 0.5, 1, 2, 2.25]) lag.observe({ lane: 'a' }, value)
  lag.observe({ lane: 'b' }, 100)
  assert.equal(
    registry.text(),
    toText(
      '# HELP lag Lag.',
      '# TYPE lag histogram',
      'lag_bucket{le="0.5",lane="a"} 2',
      'lag_bucket{le="2",lane="a"} 4',
      'lag_bucket{le="+Inf",lane="a"} 5',
      'lag_sum{lane="a"} 6',
      'lag_count{lane="a"} 5',
      'lag_bucket{le="0.5",lane="b"} 0',
      'lag_bucket{le="2",lane="b"} 0',
      'lag_bucket{le="+Inf",lane="b"} 1',
      'lag_sum{lane="b"} 100',
      'lag_count{lane="b"} 1',
    ),
  )
})

test('a value of a label cannot end its line or its quotes', () => {
  const registry = makeRegistry()
  const counter = registry.counter('odd_total', 'Odd.', ['what'])
  counter.add({ what: 'a "b"\\n\nend' })
  assert.ok(registry.text().endsWith('odd_total{what="a \\"b\\"\\\\n\\nend"} 1\n'))
})
