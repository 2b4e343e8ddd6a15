/**
 * Turns the reports of other rooms into log lines, metrics and spans, in one place. Those rooms know none of
 * them; no line contains a secret, an amount or a caller's text.
 */

import type { OAuthReport } from '#auth/oauth/oauth.ts'
import type { OAuthRecord } from '#auth/oauth/port.ts'
import type { PrintUrl } from '#auth/sign-in/single-use.ts'
import type { ConnectionsReport } from '#connections/connections.ts'
import { ApiError } from '#contract/errors.ts'
import type { KvMetrics } from '#fast/open.ts'
import type { JobReport } from '#jobs/periodic.ts'
import type { MailReport } from '#mail/worker.ts'
import type { GuardTarget } from '#providers/guard.ts'
import type { UpstreamReport } from '#providers/port.ts'
import type { StoreLog } from '#store/log.ts'
import type { SyncReport, SyncRunReport } from '#syncs/syncs.ts'
import type { WebhooksReport } from '#webhooks/options.ts'
import type { Log } from './log.ts'
import { makeMailReports, printUrl } from './mail-reports.ts'
import type { Metrics } from './metrics.ts'
import type { ReadRecord, RequestRecord, SimplefinRecord, WebhookRecord } from './request-record.ts'
import * as spans from './span-facts.ts'
import type { Tracing } from './tracing.ts'
import { makeWebhookReports } from './webhook-reports.ts'

export interface Reports {
  readonly store: StoreLog
  readonly kv: KvMetrics
  readonly upstream: UpstreamReport
  readonly connections: ConnectionsReport
  readonly oauth: OAuthReport
  readonly syncs: SyncReport
  readonly jobs: JobReport
  readonly webhooks: WebhooksReport
  readonly mails: MailReport
  /** A link that is not mailed, because there is no mail server. */
  readonly printUrl: PrintUrl
  request(record: RequestRecord): void
  providerWebhook(record: WebhookRecord): void
  simplefin(record: SimplefinRecord): void
  breakerOpen(target: GuardTarget): void
  balanceFailure(error: unknown): void
  /** Somebody could not prove who they are, because what is stored of it cannot be read. */
  damagedProof(error: Error): void
  backgroundFailure(task: string, error: unknown, requestId?: string): void
}

export function makeReports(log: Log, metrics: Metrics, tracing: Tracing): Reports {
  function backgroundFailure(task: string, error: unknown, requestId?: string): void {
    metrics.backgroundFailed(task)
    const request = requestId === undefined ? {} : { requestId }
    log.error({ task, ...request, err: error }, 'background work failed')
  }
  const jobs: JobReport = {
    done: (task) => metrics.backgroundRan(task, 'done'),
    failed(task, error) {
      metrics.backgroundRan(task, 'failed')
      backgroundFailure(task, error)
    },
  }
  const request = (record: RequestRecord) => {
    tracing.describe(spans.spanOfRequest(record))
    if (record.door === 'oauth') logOAuth(log, record)
    else reportRead(log, metrics, record)
  }
  return {
    store: ({ level, message, ...fields }) => log[level](fields, message),
    kv: {
      shared: (connection, isShared) => metrics.sharedStateUnavailable(connection, !isShared),
      fellBack: (concern) => metrics.backgroundFailed(`kv-${concern}-stood-in`),
      unreadable: () => metrics.backgroundFailed('kv-unreadable'),
    },
    upstream: makeUpstreamReport(log, metrics, tracing),
    connections: makeConnectionReports(log, metrics),
    oauth: {
      failed: (error) => backgroundFailure('oauth', error),
      reused(clientId) {
        metrics.backgroundFailed('oauth-reuse')
        log.warn(
          { clientId },
          'an authorization code or refresh token was used twice: its grant is revoked',
        )
      },
      request,
      pendingRefused: (bound) => metrics.refused(`authorize-${bound}`),
    },
    syncs: {
      around: (work) => tracing.within('sync', work),
      ended(run) {
        tracing.describe(spans.spanOfSync(run))
        metrics.syncs.ended(run)
        logRun(log, run)
      },
    },
    jobs,
    webhooks: makeWebhookReports(log, metrics, { tracing, backgroundFailure }),
    mails: makeMailReports(log, metrics),
    printUrl: (made) => printUrl(log, made),
    request,
    breakerOpen(target) {
      metrics.breakerOpened(target.provider)
      log.warn({ connectionId: target.connectionId, provider: target.provider }, 'breaker is open')
    },
    providerWebhook(record) {
      tracing.describe(spans.spanOfWebhook(record))
      reportProviderWebhook(log, metrics, record)
    },
    simplefin(record) {
      tracing.describe(spans.spanOfSimplefin(record))
      reportSimplefin(log, metrics, record)
    },
    balanceFailure: (error) => log.warn({ err: error }, 'balances could not be read'),
    damagedProof(error) {
      metrics.backgroundFailed('damaged-proof')
      log.error({ err: error }, 'a stored password or second factor cannot be read')
    },
    backgroundFailure,
  }
}

function makeUpstreamReport(log: Log, metrics: Metrics, tracing: Tracing): UpstreamReport {
  return {
    exchange(event) {
      tracing.record(spans.spanOfExchange(event))
      metrics.exchange(event)
      log.debug(event, 'provider exchange')
    },
    alert(event) {
      metrics.alert(event)
      log.error(event, 'operator action required')
    },
    oddity: (event) => metrics.oddity(event),
  }
}

/** Ids, counts and our own sentence: never a row. */
function logRun(log: Log, { counts, code, error, durationMs, ...run }: SyncRunReport): void {
  log[levelOf(run.result, code, counts)](
    {
      ...run,
      ...(code === null ? {} : { code }),
      durationMs: round(durationMs),
      ...counts,
      ...(error === null ? {} : { err: error }),
    },
    'sync run',
  )
}

/** A run that read and announced nothing is logged at debug: without an endpoint most are such. */
function levelOf(
  result: SyncRunReport['result'],
  code: SyncRunReport['code'],
  { read, chunks, unread }: SyncRunReport['counts'],
): 'debug' | 'info' | 'warn' | 'error' {
  if (result === 'succeeded' && unread > 0) return 'warn'
  if (result === 'succeeded') return read === 0 && chunks === 0 ? 'debug' : 'info'
  return code === 'internal' ? 'error' : 'warn'
}

/** Neither forged webhooks nor a provider's repetitions may fill the log. */
const quiet: readonly WebhookRecord['outcome'][] = [
  'unmatched',
  'ignored',
  'repeated',
  'under_way',
  'limited',
  'busy',
  'gone',
]

function reportProviderWebhook(log: Log, metrics: Metrics, record: WebhookRecord): void {
  const { door, provider, outcome, status, durationMs, error } = record
  metrics.providerWebhook(provider, outcome)
  const level = quiet.includes(outcome) ? 'debug' : outcome === 'done' ? 'info' : 'warn'
  const line = { door, provider, outcome, status, durationMs: round(durationMs) }
  const text = status === 200 ? 'provider webhook' : 'provider webhook refused'
  log[level](error === null ? line : { ...line, err: error }, text)
}

function reportSimplefin(log: Log, metrics: Metrics, record: SimplefinRecord): void {
  const { door, resource, status, cache, durationMs, error } = record
  metrics.request({ door, operation: resource, status, cache, durationMs })
  if (status === 429) metrics.refused(record.programId === null ? 'preauth' : 'simplefin')
  const { requestId, programId, caller } = record
  const known = caller === null ? {} : { programId, userId: caller.userId }
  const line = {
    requestId,
    door,
    operation: resource,
    status,
    durationMs: round(durationMs),
    ...known,
  }
  const level = status >= 500 ? 'error' : 'info'
  log[level](status >= 500 || status === 499 ? { ...line, err: error } : line, 'request')
}

function logOAuth(log: Log, { door, endpoint, status, durationMs }: OAuthRecord): void {
  const level = status >= 500 ? 'error' : endpoint === 'discovery' ? 'debug' : 'info'
  log[level]({ door, operation: endpoint, status, durationMs: round(durationMs) }, 'request')
}

function reportRead(log: Log, metrics: Metrics, record: ReadRecord): void {
  metrics.request({
    door: record.door,
    operation: record.operation ?? 'unknown',
    status: record.status,
    cache: record.cache,
    durationMs: record.durationMs,
  })
  countRefusal(metrics, record)
  logRead(log, record)
}

function countRefusal(metrics: Metrics, record: ReadRecord): void {
  if (record.status !== 429 || !(record.error instanceof ApiError)) return
  if (record.error.entry === 'too_many_concurrent') metrics.refused('concurrency')
  else metrics.refused(record.caller === null ? 'preauth' : (record.operation ?? 'unknown'))
}

/** Answers from the cache are counted but not logged: they would be most of the lines and say little. */
function logRead(log: Log, record: ReadRecord): void {
  const level = record.status >= 500 ? 'error' : record.cache === 'HIT' ? 'debug' : 'info'
  if (!log.isLevelEnabled(level)) return
  log[level](
    {
      requestId: record.requestId,
      ...(record.door === 'rest' ? {} : { door: record.door }),
      operation: record.operation,
      status: record.status,
      ...(record.error instanceof ApiError && record.error.code !== null
        ? { code: record.error.code }
        : {}),
      cache: record.cache,
      durationMs: round(record.durationMs),
      userId: record.caller?.userId,
      keyId: record.caller?.bucketId,
      ...(record.status >= 500 || record.status === 499 ? { err: record.error } : {}),
    },
    'request',
  )
}

/** Milliseconds with one decimal. */
function round(durationMs: number): number {
  return Math.round(durationMs * 10) / 10
}

function makeConnectionReports(log: Log, metrics: Metrics): Reports['connections'] {
  return {
    deletion(event) {
      if (event.outcome !== 'done') metrics.backgroundFailed(`deletion-${event.outcome}`)
      log[event.outcome === 'done' ? 'info' : 'warn'](event, 'connection removal')
    },
    linking({ provider, outcome, code }) {
      metrics.linkingEnded(provider, outcome)
      log.info({ provider, outcome, code }, 'link from a browser')
    },
    failedLate({ what, error }) {
      metrics.backgroundFailed('late-work')
      log.warn({ what, err: error }, 'what a person began failed after its request was answered')
    },
    notListening({ provider, error }) {
      metrics.backgroundFailed('webhooks-not-listening')
      log.warn({ provider, err: error }, 'the provider was not asked for its webhooks')
    },
  }
}
