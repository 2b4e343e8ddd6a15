/** What becomes a log line, and at which level. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ConnectionId, newId, type SyncRunId } from '#kernel/ids.ts'
import type { SyncRunReport } from '#syncs/syncs.ts'
import { makeLog } from './log.ts'
import { makeMetrics } from './metrics.ts'
import { makeReports } from './reports.ts'
import { noTracing } from './tracing.ts'

const counts = {
  read: 0,
  new: 0,
  updated: 0,
  gone: 0,
  returned: 0,
  rounded: 0,
  chunks: 0,
  unread: 0,
}

const run: SyncRunReport = {
  runId: newId<SyncRunId>(),
  connectionId: newId<ConnectionId>(),
  provider: 'akahu',
  reason: 'schedule',
  result: 'succeeded',
  code: null,
  durationMs: 3.1234,
  counts,
  error: null,
}

const runs: readonly [what: string, change: Partial<SyncRunReport>, level: string][] = [
  ['read nothing and announced nothing', {}, 'debug'],
  ['read rows', { counts: { ...counts, read: 1 } }, 'info'],
  ['announced that there is nothing new', { counts: { ...counts, chunks: 1 } }, 'info'],
  ['left out an account that the provider refuses', { counts: { ...counts, unread: 1 } }, 'warn'],
  ['failed at its provider', { result: 'failed', code: 'unavailable' }, 'warn'],
  ['failed by an error of ours', { result: 'failed', code: 'internal' }, 'error'],
]

for (const [what, change, level] of runs) {
  test(`a sync run that ${what} is logged at level ${level}`, () => {
    const lines: string[] = []
    const destination = { write: (line: string) => void lines.push(line) }
    const reports = makeReports(makeLog({ level: 'trace', destination }), makeMetrics(), noTracing)
    reports.syncs.ended({ ...run, ...change })
    const [line = '{}'] = lines
    const { level: found, msg, durationMs } = JSON.parse(line)
    assert.deepEqual({ found, msg, durationMs }, { found: level, msg: 'sync run', durationMs: 3.1 })
  })
}

test('a mail that is tried again is logged with what the operator can do', () => {
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  const { mails } = makeReports(makeLog({ level: 'trace', destination }), makeMetrics(), noTracing)
  const mail = { id: 'one', kind: 'reset', attempts: 1 } as const
  const failures = [
    { code: 'ETLS', status: null, advice: /certificate that is valid for its name.*tls=never/ },
    { code: 'ETIMEDOUT', status: null, advice: /SMTP_URL is reachable/ },
    { code: 'EENVELOPE', status: 550, advice: /sender, from= in SMTP_URL/ },
    { code: 'EAUTH', status: 454, advice: /^The server puts mail off/ },
    { code: 'EAUTH', status: 535, advice: /user and password/ },
    {
      code: 'EENVELOPE',
      status: 450,
      advice: /^The server puts mail off for a while \(greylisting/,
    },
    { code: 'EPROTOCOL', status: 421, advice: /^The server puts mail off/ },
    { code: 'EMESSAGE', status: 451, advice: /^The server puts mail off/ },
    { code: 'EMESSAGE', status: 554, advice: /log of the mail server/ },
  ]
  for (const { code, status, advice } of failures) {
    mails.postponed({ ...mail, failure: { code, status, isFinal: false } })
    const line = JSON.parse(lines.at(-1) ?? '{}')
    assert.deepEqual([line.level, line.code], ['warn', code])
    assert.match(line.action, advice)
    assert.doesNotMatch(line.action, /\[query\]/, 'the log hides what looks like a query')
  }
})
