/** What spans say of requests, calls, syncs and deliveries: operations, routes and outcomes alone. */
import type { OAuthRecord } from '#auth/oauth/port.ts'
import type { UpstreamReport } from '#providers/port.ts'
import type { SyncRunReport } from '#syncs/syncs.ts'
import type { WebhooksReport } from '#webhooks/options.ts'
import type { ReadRecord, RequestRecord, SimplefinRecord, WebhookRecord } from './request-record.ts'
import type { EndedSpan, SpanFacts } from './tracing.ts'

const failureOf = (status: number): string | null => (status >= 500 ? String(status) : null)

/** Named by the operation of a read, and by the endpoint of OAuth. */
export const spanOfRequest = (record: RequestRecord): SpanFacts =>
  record.door === 'oauth' ? spanOfOAuth(record) : spanOfRead(record)

function spanOfRead({ door, operation, cache, status }: ReadRecord): SpanFacts {
  const attributes = { 'tributary.door': door, 'tributary.cache': cache }
  return { name: operation ?? `${door} unknown`, attributes, failure: failureOf(status) }
}

function spanOfOAuth({ door, endpoint, status }: OAuthRecord): SpanFacts {
  return {
    name: `${door} ${endpoint}`,
    attributes: { 'tributary.door': door },
    failure: failureOf(status),
  }
}

/** A request of the door of SimpleFIN, named by its resource. */
export function spanOfSimplefin({ door, resource, cache, status }: SimplefinRecord): SpanFacts {
  const attributes = { 'tributary.door': door, 'tributary.cache': cache }
  return { name: `${door} ${resource}`, attributes, failure: failureOf(status) }
}

/** A webhook of a provider. */
export function spanOfWebhook({ door, provider, outcome, status }: WebhookRecord): SpanFacts {
  const attributes = {
    'tributary.door': door,
    'tributary.provider': provider,
    'tributary.outcome': outcome,
  }
  return { name: `${door} ${provider}`, attributes, failure: failureOf(status) }
}

type Exchange = Parameters<UpstreamReport['exchange']>[0]

/** A call to a provider, named by its route; it never has an address. */
export function spanOfExchange({ provider, route, outcome, durationMs }: Exchange): EndedSpan {
  const isAnswered = typeof outcome === 'number'
  return {
    kind: 'client',
    name: `${provider} ${route}`,
    durationMs,
    attributes: {
      'tributary.provider': provider,
      'url.template': route,
      ...(isAnswered ? { 'http.response.status_code': outcome } : {}),
    },
    failure: isAnswered && outcome < 400 ? null : String(outcome),
  }
}

/** A run of a sync, with what it counted. */
export function spanOfSync({ provider, reason, result, code, counts }: SyncRunReport): SpanFacts {
  return {
    name: 'sync',
    attributes: {
      'tributary.provider': provider,
      'tributary.sync.reason': reason,
      'tributary.sync.result': result,
      'tributary.sync.read': counts.read,
      'tributary.sync.new': counts.new,
      'tributary.sync.updated': counts.updated,
    },
    failure: result === 'succeeded' ? null : (code ?? result),
  }
}

type Attempt = Parameters<WebhooksReport['attempt']>[0]

export function spanOfDelivery({ outcome, durationMs }: Attempt): EndedSpan {
  return {
    kind: 'client',
    name: 'delivery',
    durationMs,
    attributes: { 'tributary.outcome': outcome },
    failure: outcome === 'succeeded' ? null : outcome,
  }
}
