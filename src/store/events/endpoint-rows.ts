/**
 * Rows of webhook endpoints: columns, sealing of their secrets, row locks and the due time. Whatever changes
 * deliveries locks the endpoint's row first, so that they have one writer at a time.
 */
import { sql } from 'kysely'
import { type EventType, eventTypes } from '#contract/events.ts'
import type { EndpointId } from '#kernel/ids.ts'
import type { Engine } from '../engine/engine.ts'
import { knownHealth } from '../engine/known-words.ts'
import { type Db, moment, momentOrNull } from '../engine/tables.ts'
import type { EndpointState } from '../ports/deliveries.ts'
import type { EndpointRow, EndpointSecrets, HealthChange } from '../ports/endpoints.ts'
import { openOrNull, type SealedSecret, type Sealer } from '../seal.ts'

export const endpointColumns = [
  'id',
  'user_id as userId',
  'sealed_url as sealedUrl',
  'secret_key as secretKey',
  'events',
  'skip_empty as skipEmpty',
  'pending',
  knownHealth().as('health'),
  'failures',
  'failing_since as failingSince',
  'warned_days as warnedDays',
  'disabled_reason as disabledReason',
  'created_at as createdAt',
] as const

export const secretColumns = [
  'secret',
  'previous_secret as previousSecret',
  'previous_until as previousUntil',
] as const

type ReadRow = Omit<EndpointRow, 'url' | 'events'> & {
  readonly events: string
} & SealedUrl

/** As it is read with `endpointColumns`. */
export function toEndpointRow(sealer: Sealer, row: ReadRow): EndpointRow {
  const url = openOrNull(() => openUrl(sealer, row.id, row)) ?? ''
  const { sealedUrl, secretKey, ...rest } = row
  return { ...rest, url, events: toEvents(row.events) }
}

export function toEvents(text: string): readonly EventType[] {
  const listed = text.split(',')
  return eventTypes.filter((type) => listed.includes(type))
}

/** As `toEvents` reads it. */
export function fromEvents(events: readonly EventType[]): string {
  return events.join(',')
}

export interface SealedSecrets extends SealedSecret {
  readonly previousSecret: Uint8Array | null
  readonly previousUntil: number | null
}

const purpose = 'endpoint-secret'

/** The columns of both secrets under the current key of the store. */
export function sealSecrets(
  sealer: Sealer,
  id: EndpointId,
  { current, previous }: EndpointSecrets,
) {
  const seal = (secret: string, place: string) =>
    sealer.seal(purpose, rowName(id, place), Buffer.from(secret, 'utf8'))
  return {
    secret: seal(current, 'secret'),
    previous_secret: previous === null ? null : seal(previous.secret, 'previous_secret'),
    previous_until: momentOrNull(previous?.until ?? null),
    secret_key: sealer.current,
  }
}

/** Both secrets in plain text. @throws SealError when one cannot be decrypted. */
export function openSecrets(sealer: Sealer, id: EndpointId, row: SealedSecrets): EndpointSecrets {
  const open = (sealed: Uint8Array, place: string) =>
    Buffer.from(sealer.open(purpose, rowName(id, place), sealed, row.secretKey)).toString('utf8')
  const { secret, previousSecret, previousUntil } = row
  return {
    current: open(secret, 'secret'),
    previous:
      previousSecret === null || previousUntil === null
        ? null
        : { secret: open(previousSecret, 'previous_secret'), until: previousUntil },
  }
}

/** A URL often holds a token of its receiver. The column of it is under the same key as the secrets. */
export function sealUrl(sealer: Sealer, id: EndpointId, url: string) {
  return { sealed_url: sealer.seal(purpose, rowName(id, 'url'), Buffer.from(url, 'utf8')) }
}

export interface SealedUrl extends Pick<SealedSecret, 'secretKey'> {
  readonly sealedUrl: Uint8Array
}

/** @throws SealError when it cannot be decrypted. */
export function openUrl(sealer: Sealer, id: EndpointId, row: SealedUrl): string {
  const opened = sealer.open(purpose, rowName(id, 'url'), row.sealedUrl, row.secretKey)
  return Buffer.from(opened).toString('utf8')
}

export type ReadEndpoint = ReadRow & SealedSecrets

/** What of an endpoint is sealed, in plain text. */
export interface OpenedEndpoint {
  /** Empty: it cannot be decrypted. */
  readonly url: string
  readonly secrets: EndpointSecrets | null
}

/** As it is read with `endpointColumns` and `secretColumns`, maybe among others. */
export function openEndpoint(sealer: Sealer, row: ReadEndpoint): OpenedEndpoint {
  const url = openOrNull(() => openUrl(sealer, row.id, row)) ?? ''
  return { url, secrets: url === '' ? null : openOrNull(() => openSecrets(sealer, row.id, row)) }
}

export function toEndpointState(
  row: ReadEndpoint,
  { url, secrets }: OpenedEndpoint,
): EndpointState {
  const { id, userId, events, skipEmpty, pending, health, failures, failingSince } = row
  const { warnedDays, disabledReason, createdAt } = row
  const taken = { events: toEvents(events), skipEmpty, pending }
  const read = { id, userId, url, ...taken, health, failures }
  return { endpoint: { ...read, failingSince, warnedDays, disabledReason, createdAt }, secrets }
}

function rowName(id: EndpointId, place: string): string {
  return JSON.stringify(['webhook_endpoints', id, place])
}

const heldColumns = [
  ...endpointColumns,
  'lease',
  'next_due_at as nextDueAt',
  'not_before as notBefore',
  'last_position as lastPosition',
  'missed_to as missedTo',
] as const

/** Rows locked until the transaction ends. */
export function holdEndpoints({ kind }: Pick<Engine, 'kind'>, tx: Db) {
  const query = tx.selectFrom('webhook_endpoints').select(heldColumns)
  // SQLite has one writer: nothing else writes during a transaction.
  return kind === 'postgres' ? query.forNoKeyUpdate() : query
}

export type HeldEndpoint = NonNullable<
  Awaited<ReturnType<ReturnType<typeof holdEndpoints>['executeTakeFirst']>>
>

export function healthColumns(change: HealthChange) {
  const { health, failures, failingSince, warnedDays, disabledReason } = change
  return {
    health,
    failures,
    warned_days: warnedDays,
    failing_since: momentOrNull(failingSince),
    disabled_reason: disabledReason,
  }
}

/** The words of the partial indexes, not a parameter: both engines must recognise them. */
export const isPending = sql<boolean>`status = 'pending'`
/** Pending, and the first of its lane. */
export const isFirst = sql<boolean>`(status = 'pending' and due_at is not null)`

/**
 * True for deliveries of this endpoint that are pending when their row says so. The sign keeps SQLite from
 * taking an index by position where it needs one by time.
 */
export function isBeyondMissed(id: EndpointId) {
  return sql<boolean>`(+position > coalesce((
    select missed_to from webhook_endpoints where webhook_endpoints.id = ${id}
  ), 0))`
}

/** A wait stays until it is over or the endpoint becomes healthy, although tests were sent meanwhile. */
export function laterOf(before: number | null, now: number): Date {
  return moment(Math.max(before ?? now, now))
}

/**
 * Computes when the endpoint is due from its pending deliveries: with the first due one, but not before
 * `not_before`, from which tests are exempt. The caller has locked the row, and it is not leased, or `also`
 * ends the lease. Returns the due time; null: nothing is pending.
 * @param also columns that the same statement sets.
 */
export async function refreshDue(
  tx: Db,
  id: EndpointId,
  also: DueColumns = {},
): Promise<number | null> {
  return (await updateDue(tx, id, also).executeTakeFirstOrThrow()).dueAt
}

type DueColumns = {
  readonly lease?: null
  readonly not_before?: Date
  readonly last_position?: number
}

/** The statement of `refreshDue`. */
export function updateDue(tx: Db, id: EndpointId, also: DueColumns) {
  // The columns that this statement sets are read as they were.
  const wait = also.not_before === undefined ? sql.ref('not_before') : sql`${also.not_before}`
  const waited = sql<Date | null>`case when due_at < ${wait} then ${wait} else due_at end`
  const test = firstDue(tx, id, true).select('due_at')
  const other = firstDue(tx, id, false).select(waited.as('due_at'))
  const dueAt = sql<Date | null>`(
    select min(at) from (select (${test}) as at union all select (${other})) as times
  )`
  return tx
    .updateTable('webhook_endpoints')
    .set({ ...also, next_due_at: dueAt })
    .where('id', '=', id)
    .returning('next_due_at as dueAt')
}

function firstDue(tx: Db, id: EndpointId, isTest: boolean) {
  return tx
    .selectFrom('deliveries')
    .where('endpoint_id', '=', id)
    .where('is_test', '=', isTest)
    .where(isFirst)
    .where(isBeyondMissed(id))
    .orderBy('deliveries.due_at')
    .limit(1)
}
