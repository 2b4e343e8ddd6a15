/**
 * Accepted events: sealed before the transaction that accepts them, then stored with a delivery for each
 * endpoint that takes them. Their end is in `event-end.ts`.
 */
import type { EndpointId, EventId, UserId } from '#kernel/ids.ts'
import { inBatches } from '../engine/batches.ts'
import type { Engine, RepositoryOptions } from '../engine/engine.ts'
import { findFirst } from '../engine/rows.ts'
import { type Db, moment } from '../engine/tables.ts'
import { demandUserSoon } from '../people/users.ts'
import type { EventRows, EventStore, NewEvent, SealedBody, SealedEvent } from '../ports/events.ts'
import type { SealedSecret, Sealer } from '../seal.ts'
import { advanceFeed, feedPosition } from './consumers.ts'
import { type HeldEndpoint, holdEndpoints, toEvents } from './endpoint-rows.ts'
import { makeEventEnds } from './event-end.ts'
import { addKeys, holdKeys, readWrappedKeys } from './event-keys.ts'
import {
  type EventKey,
  macBody,
  openEventBody,
  sealEventBody,
  sealResponse,
  unwrapKey,
} from './event-seal.ts'
import { insertDeliveries } from './lanes.ts'

/** What a transaction can do with events. */
export function makeEventRows({ engine, write }: RepositoryOptions): EventRows {
  return {
    accept: (events, only) =>
      write(async (tx, _touched, woke, fed) => {
        const [first] = events
        if (first === undefined) return 0
        if (events.some(({ userId }) => userId !== first.userId))
          throw new Error('events of several users were to be accepted as one')
        await demandUserSoon(engine, tx, first.userId)
        await demandKeys(engine, tx, events)
        const isForAll = only === undefined
        if (isForAll) {
          const { userId } = first
          const by = events.filter(isForFeed).length
          await advanceFeed(engine, tx, { userId, by, found: () => fed(userId) })
        }
        await insertEvents(engine, tx, events, isForAll)
        const endpoints = await holdTakers(engine, tx, first.userId, only)
        let count = 0
        for (const endpoint of endpoints) {
          const taken =
            only === undefined ? events.filter((event) => takes(endpoint, event)) : events
          count += await deliver(engine, tx, endpoint, taken)
        }
        if (count > 0) woke('delivery')
        return count
      }),
    async find(id) {
      return findFirst(engine.db.selectFrom('events').select(eventColumns).where('id', '=', id))
    },
  }
}

const eventColumns = [
  'id',
  'user_id as userId',
  'connection_id as connectionId',
  'run_id as runId',
  'type',
  'chunk',
  'total_chunks as totalChunks',
  'is_empty as isEmpty',
  'created_at as createdAt',
  'size',
  'shredded_at as shreddedAt',
] as const

/** The event repository of `engine`: what a transaction can do, and what must be outside of transactions. */
export function makeEventStore(
  options: RepositoryOptions & { readonly sealer: Sealer },
): EventStore {
  const { engine, sealer } = options
  return {
    ...makeEventRows(options),
    seal: (events) => inBatches(events, (batch) => seal(options, batch), eventsAtOnce),
    async open(id) {
      const body = (await readBodies({ engine, sealer }, [id])).get(id)
      return body === undefined ? null : body.open()
    },
    readBodies: (ids) => readBodies({ engine, sealer }, ids),
    ...makeEventEnds(options),
  }
}

async function readBodies(
  options: { readonly engine: Engine; readonly sealer: Sealer },
  ids: readonly EventId[],
): Promise<ReadonlyMap<EventId, SealedBody>> {
  const { db, queries } = options.engine
  const [wrapped, rows] = await Promise.all([
    readWrappedKeys(options.engine, ids),
    inBatches(ids, async (ids) => {
      const query = queries.compile(selectPayloads, db, { ids })
      return (await db.executeQuery(query)).rows
    }),
  ])
  return new Map(
    rows.flatMap(({ payload, ...row }) => {
      const key = wrapped.get(row.id)
      if (key === undefined || payload === null) return []
      return [[row.id, toBody(options.sealer, { ...row, payload }, key)]]
    }),
  )
}

const selectPayloads = (db: Db, { ids }: { readonly ids: readonly EventId[] }) =>
  db
    .selectFrom('events')
    .select(['id', 'type', 'size', 'payload'])
    .where('id', 'in', ids)
    .where('payload', 'is not', null)

interface SealedRow extends Pick<SealedEvent, 'id' | 'type' | 'size'> {
  readonly payload: Uint8Array
}

function toBody(sealer: Sealer, row: SealedRow, wrapped: SealedSecret): SealedBody {
  let key: EventKey | null = null
  const unwrap = () => {
    key ??= unwrapKey(sealer, row.id, wrapped)
    return key
  }
  return {
    open: async () => openEventBody(unwrap(), row, row.payload),
    sealResponse: (attempt, response) => sealResponse(unwrap(), attempt, response),
  }
}

async function seal(
  { engine, sealer }: { readonly engine: Engine; readonly sealer: Sealer },
  events: readonly NewEvent[],
): Promise<readonly SealedEvent[]> {
  const keys = await addKeys({ engine, sealer }, events)
  return Promise.all(
    keys.map(async (key, index) => {
      const event = events[index]
      if (event === undefined) throw new Error('a key without an event')
      const { body, ...rest } = event
      return {
        ...rest,
        size: body.byteLength,
        payload: await sealEventBody(key, event, body),
        bodyMac: macBody(sealer, event.id, body),
      }
    }),
  )
}

/** Keys may have been swept when a run took too long; it must seal its events again. */
function demandKeys(engine: Engine, tx: Db, events: readonly SealedEvent[]): Promise<void> {
  const ids: readonly EventId[] = events.map(({ id }) => id)
  return holdKeys(engine, tx, ids, () => {
    throw new Error("the event's key was swept before the event was accepted")
  })
}

/** Each has at most 64 KiB. */
const eventsAtOnce = 16

/** Who fetches events gets those for endpoints that do not ask for pending rows. */
const isForFeed = ({ hasPending }: SealedEvent): boolean => hasPending !== true

/** `inFeed`: at the end of the user's feed, which was advanced by their number. */
async function insertEvents(
  engine: Engine,
  tx: Db,
  events: readonly SealedEvent[],
  inFeed: boolean,
): Promise<void> {
  let behind = events.filter(isForFeed).length
  const insert = async (batch: readonly SealedEvent[]) => {
    const rows = batch.map((event) => {
      const isFed = inFeed && isForFeed(event)
      if (isFed) behind -= 1
      return { ...toColumns(event), behind: isFed ? behind : null }
    })
    await engine.later(tx, engine.queries.compile(insertRows, tx, { rows }))
    return []
  }
  await inBatches(events, insert, eventsAtOnce)
}

type NewRow = ReturnType<typeof toColumns> & { readonly behind: number | null }

const insertRows = (tx: Db, { rows }: { readonly rows: readonly NewRow[] }) =>
  tx.insertInto('events').values(
    rows.map(({ behind, ...row }) => ({
      ...row,
      position: feedPosition(row.user_id, behind),
    })),
  )

function toColumns(event: SealedEvent) {
  return {
    id: event.id,
    user_id: event.userId,
    connection_id: event.connectionId,
    run_id: event.runId,
    type: event.type,
    chunk: event.chunk,
    total_chunks: event.totalChunks,
    is_empty: event.isEmpty,
    has_pending: event.hasPending ?? null,
    created_at: moment(event.createdAt),
    size: event.size,
    body_mac: event.bodyMac,
    shredding: false,
    payload: event.payload,
  }
}

/** Locked in the order of their ids, so that two transactions do not deadlock. */
async function holdTakers(
  engine: Engine,
  tx: Db,
  userId: UserId,
  only: EndpointId | undefined,
): Promise<HeldEndpoint[]> {
  const hold = takers[engine.kind]
  if (only !== undefined) return hold(tx, { userId }).where('id', '=', only).execute()
  return (await tx.executeQuery(engine.queries.compile(hold, tx, { userId }))).rows
}

const takers = { sqlite: makeHold('sqlite'), postgres: makeHold('postgres') }

function makeHold(kind: Engine['kind']) {
  return (tx: Db, { userId }: { readonly userId: UserId }) =>
    holdEndpoints({ kind }, tx).where('user_id', '=', userId).orderBy('id')
}

function takes(endpoint: HeldEndpoint, event: SealedEvent): boolean {
  if (event.isEmpty && endpoint.skipEmpty) return false
  const { hasPending = null } = event
  if (hasPending !== null && hasPending !== endpoint.pending) return false
  return toEvents(endpoint.events).includes(event.type)
}

async function deliver(
  engine: Engine,
  tx: Db,
  endpoint: HeldEndpoint,
  events: readonly SealedEvent[],
): Promise<number> {
  await insertDeliveries(
    engine,
    tx,
    endpoint,
    events.map(({ id, connectionId, createdAt }) => ({
      eventId: id,
      lane: connectionId,
      isReplay: false,
      isTest: connectionId === null,
      at: createdAt,
    })),
  )
  return events.length
}
