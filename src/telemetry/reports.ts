/**
 * What the rooms tell their operators, turned into log lines and metrics in one place. The rooms know neither; no line
 * names a secret, an amount or a caller's text.
 */
import type { OAuthReport } from '#auth/oauth/oauth.ts'
import { ApiError } from '#contract/errors.ts'
import type { McpEvent } from '#doors/mcp/door.ts'
import type { RestEvent } from '#doors/rest/lane.ts'
import type { LinksReport } from '#links/links.ts'
import type { GuardTarget } from '#providers/guard.ts'
import type { UpstreamReport } from '#providers/port.ts'
import type { KvMetrics } from '#store/kv/open.ts'
import type { StoreLog } from '#store/sql/engine.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'

export interface Reports {
  readonly store: StoreLog
  readonly kv: KvMetrics
  readonly upstream: UpstreamReport
  readonly links: LinksReport
  readonly oauth: OAuthReport
  request(event: RestEvent): void
  agentRequest(event: McpEvent): void
  breakerOpen(target: GuardTarget): void
  balanceFailure(error: unknown): void
  backgroundFailure(task: string, error: unknown): void
}

export function makeReports(log: Log, metrics: Metrics): Reports {
  function backgroundFailure(task: string, error: unknown): void {
    metrics.backgroundFailed(task)
    log.error({ task, err: error }, 'background work failed')
  }
  return {
    store: ({ level, message, ...fields }) => log[level](fields, message),
    kv: {
      shared: (isShared) => metrics.sharedStateAway(!isShared),
      stoodIn: (concern) => metrics.backgroundFailed(`kv-${concern}-stood-in`),
      unreadable: () => metrics.backgroundFailed('kv-unreadable'),
    },
    upstream: {
      exchange(event) {
        metrics.exchange(event)
        log.debug(event, 'provider exchange')
      },
      alert(event) {
        metrics.alert(event)
        log.error(event, 'only the operator can mend this')
      },
      oddity: (event) => metrics.oddity(event),
    },
    links: {
      deletion(event) {
        if (event.outcome !== 'done') metrics.backgroundFailed(`deletion-${event.outcome}`)
        log[event.outcome === 'done' ? 'info' : 'warn'](event, 'connection removal')
      },
      sweepFailed: (error) => backgroundFailure('deletion-sweep', error),
    },
    oauth: {
      failed: (error) => backgroundFailure('oauth', error),
      reused(clientId) {
        metrics.backgroundFailed('oauth-reuse')
        log.warn({ clientId }, 'a code or refresh token came twice: its grant is revoked')
      },
      request({ endpoint, status, durationMs }) {
        const level = status >= 500 ? 'error' : endpoint === 'discovery' ? 'debug' : 'info'
        const rounded = Math.round(durationMs * 10) / 10
        log[level]({ door: 'oauth', operation: endpoint, status, durationMs: rounded }, 'request')
      },
      sweepFailed: (error) => backgroundFailure('oauth-sweep', error),
    },
    request: (event) => reportRequest(log, metrics, 'rest', event),
    agentRequest: (event) => reportRequest(log, metrics, 'mcp', event),
    breakerOpen(target) {
      metrics.breakerOpened(target.provider)
      log.warn({ connectionId: target.connectionId, provider: target.provider }, 'breaker is open')
    },
    balanceFailure: (error) => log.warn({ err: error }, 'balances could not be read'),
    backgroundFailure,
  }
}

function reportRequest(
  log: Log,
  metrics: Metrics,
  door: 'rest' | 'mcp',
  event: RestEvent | McpEvent,
): void {
  metrics.request({
    door,
    operation: event.operation ?? 'unknown',
    status: event.status,
    cache: event.cache,
    durationMs: event.durationMs,
  })
  countRefusal(metrics, event)
  logRequest(log, door, event)
}

function countRefusal(metrics: Metrics, event: RestEvent | McpEvent): void {
  if (event.status !== 429 || !(event.error instanceof ApiError)) return
  if (event.error.entry === 'too_many_concurrent') metrics.refused('concurrency')
  else metrics.refused(event.caller === null ? 'preauth' : (event.operation ?? 'unknown'))
}

/** Answers from the cache are counted, not logged: they would be most of the lines and tell the least. */
function logRequest(log: Log, door: 'rest' | 'mcp', event: RestEvent | McpEvent): void {
  const level = event.status >= 500 ? 'error' : event.cache === 'HIT' ? 'debug' : 'info'
  if (!log.isLevelEnabled(level)) return
  log[level](
    {
      requestId: event.requestId,
      ...(door === 'rest' ? {} : { door }),
      operation: event.operation,
      status: event.status,
      ...(event.error instanceof ApiError && event.error.code !== null
        ? { code: event.error.code }
        : {}),
      cache: event.cache,
      durationMs: Math.round(event.durationMs * 10) / 10,
      userId: event.caller?.userId,
      keyId: event.caller?.bucketId,
      ...(event.status >= 500 || event.status === 499 ? { err: event.error } : {}),
    },
    'request',
  )
}
