/**
 * The details of entries that versions before migration 0018 wrote: they are read from the words of
 * `subject`. This file goes when a migration fills the column `details` of those entries. A new action needs
 * no row here.
 */
import type { AuditAction, AuditDetails } from '#contract/audit.ts'

type OfWords = {
  readonly [Action in AuditAction]?: (words: readonly string[]) => AuditDetails[Action]
}

const onKey = ([keyId = '']: readonly string[]) => ({ keyId })
const onConnection = ([connectionId = '']: readonly string[]) => ({ connectionId })
const onEndpoint = ([endpointId = '']: readonly string[]) => ({ endpointId })

/** The name of an agent stands behind the word `as`; entries of the first versions have none. */
function readAgent([clientId = '', ...rest]: readonly string[]) {
  const place = rest.indexOf('as')
  return place === -1
    ? { clientId, scopes: rest, clientName: null }
    : { clientId, scopes: rest.slice(0, place), clientName: rest.slice(place + 1).join(' ') }
}

const ofWords: OfWords = {
  'account.end-other-sessions': ([count]) => ({ count: Number(count) }),
  'account.end-session': ([sessionId = '']) => ({ sessionId }),
  'account.set-timezone': ([timezone = '']) => ({ timezone }),
  'account.sign-in-refused': ([refused]) => ({
    refused: refused === 'code' || refused === 'code-missing' ? refused : 'account',
  }),
  'agent.connected': readAgent,
  'agent.disconnected': readAgent,
  'connections.finish-linking': ([provider = '', ...outcome]) => ({
    provider,
    outcome: outcome.join(' '),
  }),
  'connections.link': ([provider = '', ...connectionIds]) => ({ provider, connectionIds }),
  'connections.refresh': onConnection,
  'connections.remove': ([connectionId = '', end]) => ({
    connectionId,
    endsAtProvider: end === 'at-provider',
  }),
  'connections.start-linking': ([provider = '', renews = null]) => ({ provider, renews }),
  'connections.sync': onConnection,
  'keys.create': onKey,
  'keys.revoke': onKey,
  'plans.set': ([plan = '', status = '']) => ({ plan, status }),
  'webhooks.create': onEndpoint,
  'webhooks.disable': ([endpointId = '', reason = 'owner']) => ({ endpointId, reason }),
  'webhooks.enable': onEndpoint,
  'webhooks.failing': ([endpointId = '', days]) => ({ endpointId, days: Number(days) }),
  'webhooks.remove': onEndpoint,
  'webhooks.replay': onEndpoint,
  'webhooks.rotate': onEndpoint,
  'webhooks.test': onEndpoint,
}

export function readSubject(action: AuditAction, subject: string): AuditDetails[AuditAction] {
  return ofWords[action]?.(subject.split(' ')) ?? {}
}
