/** The operators' guide and the files it hands out: what they name exists. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { parse } from 'yaml'
import { type ConnectionId, newId, type SyncRunId } from '#kernel/ids.ts'
import { systemClock } from '#kernel/time.ts'
import { settings } from '#settings/settings.ts'
import { makeBacklog } from '#telemetry/backlog-metrics.ts'
import { makeMetrics } from '#telemetry/metrics.ts'
import { makeSqlitePlace } from '#tests/contract/store/place.ts'
import { readGuide, readText, serviceEnvironment } from './files.ts'

/** Every series that a process which has met everything would show. */
async function listSeries(): Promise<Set<string>> {
  const metrics = makeMetrics()
  try {
    metrics.request({
      door: 'rest',
      operation: 'unknown',
      status: 404,
      cache: 'BYPASS',
      durationMs: 1,
    })
    const place = makeSqlitePlace()
    const store = await place.open()
    const backlog = makeBacklog({ store, clock: systemClock, onFailure: assert.ifError })
    const text = `${await metrics.text()}\n${await backlog.text()}`
    await store.close()
    await place.remove()
    return new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name))
  } finally {
    metrics.close()
  }
}

const named = (text: string) =>
  [...text.matchAll(/\b(?:tributary|nodejs|process)_[a-z0-9_]+\b/g)].map(([name]) => name)

for (const [name, text] of [
  ['deploy/alerts.yaml', readText('deploy/alerts.yaml')],
  ['deploy/grafana-dashboard.json', readText('deploy/grafana-dashboard.json')],
  ['the guide', readGuide()],
] as const) {
  test(`every metric that ${name} names is one of ours`, async () => {
    const series = await listSeries()
    const names = named(text).map((name) => name.replace(/_(?:bucket|sum|count)$/, ''))
    assert.ok(names.length >= 8, 'it names metrics')
    assert.deepEqual(
      names.filter((name) => !series.has(name)),
      [],
    )
  })
}

test('every metric of ours is in the guide', async () => {
  const names = named(readGuide()).map((name) => name.replace(/_(?:bucket|sum|count)$/, ''))
  const ours = [...(await listSeries())].filter((name) => name.startsWith('tributary_'))
  assert.deepEqual(
    ours.filter((name) => !names.includes(name)),
    [],
  )
})

interface Rules {
  readonly groups: readonly {
    readonly rules: readonly {
      readonly alert: string
      readonly expr: string
      readonly labels: { readonly severity: string }
      readonly annotations: { readonly summary: string }
    }[]
  }[]
}

interface Dashboard {
  readonly panels: readonly {
    readonly title: string
    readonly description?: string
    readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[]
  }[]
}

/** The labels of each series of a process that has met everything. */
async function listLabels(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const metrics = makeMetrics()
  const counts = {
    read: 1,
    new: 1,
    updated: 1,
    gone: 1,
    returned: 1,
    rounded: 1,
    chunks: 1,
    unread: 1,
  }
  const run = { runId: newId<SyncRunId>(), connectionId: newId<ConnectionId>() }
  const request = { door: 'rest', operation: 'unknown', status: 404, cache: 'BYPASS' } as const
  metrics.request({ ...request, durationMs: 1 })
  metrics.exchange({ provider: 'up', route: 'GET /x', outcome: 200, durationMs: 1 })
  metrics.breakerOpened('up')
  metrics.refused('heavy')
  metrics.backgroundRan('sweep', 'done')
  metrics.sharedStateUnavailable('limits', false)
  metrics.webhooks.attempt({ outcome: 'succeeded', durationMs: 1, lagMs: 1 })
  metrics.syncs.ended({
    ...run,
    ...{ provider: 'up', reason: 'schedule', result: 'succeeded', code: null, error: null },
    durationMs: 1,
    counts,
  })
  const text = await metrics.text()
  metrics.close()
  const labels = new Map<string, Set<string>>()
  for (const [, series = '', list = ''] of text.matchAll(/^(\w+)\{([^}]*)\}/gm)) {
    const name = series.replace(/_(?:bucket|sum|count)$/, '')
    const own = labels.get(name) ?? new Set<string>()
    for (const [, label = ''] of list.matchAll(/(\w+)="/g)) own.add(label)
    labels.set(name, own)
  }
  return labels
}

test('every panel of the dashboard says what it shows, and groups by labels that its series have', async () => {
  const { panels } = JSON.parse(readText('deploy/grafana-dashboard.json')) as Dashboard
  const labels = await listLabels()
  const queries = panels.flatMap(({ title, description, targets = [] }) =>
    targets.map((target) => ({ title, description, ...target })),
  )
  assert.ok(queries.length >= 20)
  for (const { title, description, expr, legendFormat } of queries) {
    assert.ok((description ?? '').length > 0, title)
    const name = named(expr)[0]?.replace(/_(?:bucket|sum|count)$/, '') ?? 'up'
    const own = labels.get(name) ?? new Set()
    const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, by = '']) => by.split(', '))
    const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label)
    const filtered = [...expr.matchAll(/(\w+)=~?"/g)].map(([, label = '']) => label)
    const strange = [...grouped, ...shown, ...filtered].filter(
      (label) => !own.has(label) && !['le', 'job', 'instance'].includes(label),
    )
    assert.deepEqual(strange, [], `${title}: ${expr}`)
  }
})

test('every alert has a description, and the guide says what to do about it', () => {
  const { groups } = parse(readText('deploy/alerts.yaml')) as Rules
  const rules = groups.flatMap((group) => group.rules)
  const guide = readGuide()
  for (const { alert, expr, labels, annotations } of rules) {
    assert.ok(expr.length > 0 && annotations.summary.length > 0, alert)
    assert.ok(['page', 'ticket'].includes(labels.severity), alert)
    assert.match(guide, new RegExp(`\`${alert}\``), `the guide speaks of ${alert}`)
  }
  assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length)
})

test('the variables that the service unit and the guide set are settings', () => {
  const known = new Set<string>([
    ...settings.map(([name]) => name),
    // Of the database server and the proxy of compose.yaml, of every Node program, and of psql.
    ...['POSTGRES_PASSWORD', 'VALKEY_PASSWORD', 'NODE_ENV', 'NODE_EXTRA_CA_CERTS', 'ON_ERROR_STOP'],
    ...serviceEnvironment.map((pair) => pair.split('=')[0] ?? ''),
  ])
  for (const text of [readText('deploy/tributary.service'), readGuide()]) {
    const set = [...text.matchAll(/(?<![\w$.])([A-Z][A-Z_]{3,})=/g)]
    assert.ok(set.length > 0)
    const strange = set.map(([, name = '']) => name).filter((name) => !known.has(name))
    assert.deepEqual(strange, [])
  }
})

test('the proxy of one machine replaces a client’s own X-Forwarded-For and closes connections first', () => {
  const proxy = readText('deploy/nginx.conf')
  assert.match(proxy, /proxy_set_header X-Forwarded-For \$remote_addr;/)
  assert.match(proxy, /keepalive_timeout 60s;/)
  assert.doesNotMatch(proxy, /log_format[^;]*\$(?:request|uri|request_uri|args)[ "]/)
})

test('the copies of data that the guides make in the clone are not for git', () => {
  const ignored = new Set(readText('.gitignore').split('\n'))
  const guides = `${readText('docs/self-hosting.md')}\n${readGuide()}`
  const copies = guides.matchAll(
    /(?:vacuum into '|docker cp \S+ |\.backup |--file=)([\w.-]+\.(?:db|dump))\b/g,
  )
  const names = new Set([...copies].map(([, name = '']) => name))
  for (const name of ['tributary-backup.db', 'tributary.dump']) assert.ok(names.has(name))
  assert.deepEqual(
    // Of an interrupted setup.
    [...names, '.env.new'].filter((name) => !ignored.has(name)),
    [],
  )
})

test('the backup of SQLite says where there is no store, and calls no empty copy good', (t) => {
  if (spawnSync('sh', ['-c', 'command -v sqlite3']).status !== 0) return t.skip('needs sqlite3')
  const [, lines = ''] = /```sh\numask 077\n(sqlite3[\s\S]*?)```/.exec(readGuide()) ?? []
  const folder = mkdtempSync(join(tmpdir(), 'tributary-backup-'))
  try {
    const here = lines.replaceAll('/var/lib/tributary/', '').replaceAll('/backup/', 'backup-')
    const run = () => spawnSync('sh', ['-c', here], { cwd: folder, encoding: 'utf8' })
    const missing = run()
    assert.deepEqual([missing.status, missing.stdout], [1, ''])
    const store = new DatabaseSync(join(folder, 'tributary.db'))
    store.exec('pragma journal_mode = wal; create table users (id); insert into users values (7)')
    const made = run()
    assert.deepEqual([made.status, made.stdout], [0, 'ok\n'])
    const copy = new DatabaseSync(join(folder, 'backup-tributary.db'), { readOnly: true })
    assert.equal(copy.prepare('select id from users').get()?.id, 7)
    copy.close()
    store.close()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
