/**
 * The event about a change of a connection (contract, Events; reading R41): the fields of the REST connection
 * in snake_case. It belongs to no sync, has no rows and no money.
 */
import { apiVersion, type ConnectionEvent, type ConnectionEventType } from '#contract/events.ts'
import { hideNumberShapes } from '#kernel/account-numbers.ts'
import { type ConnectionId, type EventId, newTimedId, type UserId } from '#kernel/ids.ts'
import { type Millis, toIso, toIsoOrNull } from '#kernel/time.ts'
import { factsOf } from '#providers/all-facts.ts'
import type { ChangedConnection } from '#store/ports/connection-events.ts'
import type { NewEvent } from '#store/ports/events.ts'

export interface ConnectionEventDraft {
  readonly userId: UserId
  /** Null: a test event. */
  readonly connectionId: ConnectionId | null
  readonly type: ConnectionEventType
  readonly data: ConnectionEvent
  /** When the consent ends, in a `connection.expiring`. */
  readonly expiresAt: Millis | null
  readonly createdAt: Millis
}

/** One event in one chunk. It is never empty: an endpoint that skips syncs without news receives it. */
export function makeConnectionEvent(draft: ConnectionEventDraft): NewEvent {
  const { userId, connectionId, type, createdAt, expiresAt } = draft
  const id = newTimedId<EventId>()
  const envelope = {
    id,
    object: 'event',
    type,
    api_version: apiVersion,
    created: Math.floor(createdAt / 1000),
    data: { ...draft.data, ...(expiresAt === null ? {} : { expires_at: toIso(expiresAt) }) },
    metadata: { sync_run_id: null, new_count: 0, updated_count: 0, chunk: 1, total_chunks: 1 },
  }
  return {
    ...{ id, userId, connectionId, runId: null, type, createdAt },
    ...{ chunk: 1, totalChunks: 1, isEmpty: false },
    body: Buffer.from(JSON.stringify(envelope)),
  }
}

/** As GET /v1/connections shows it. */
export function toConnectionEvent(row: ChangedConnection): ConnectionEvent {
  return {
    id: row.id,
    provider: row.provider,
    category: factsOf(row.provider).category,
    institution_id: row.institutionId,
    institution_name: hideNumberShapes(row.institutionName),
    institution_logo: row.institutionLogo,
    status: row.status,
    last_refreshed_at: toIsoOrNull(row.lastRefreshedAt),
    created_at: toIso(row.createdAt),
  }
}
