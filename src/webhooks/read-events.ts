/**
 * Reads a user's events from a position of their feed on (reading R42): the bodies as webhook endpoints get
 * them, byte for byte, each with the cursor behind it. What is no longer kept is an error that says where to
 * go on, never an omission.
 */
import { apiError } from '#contract/errors.ts'
import type { EventType } from '#contract/events.ts'
import type { FeedId, UserId } from '#kernel/ids.ts'
import type { FeedEventRow } from '#store/ports/consumers.ts'
import type { SealedBody } from '#store/ports/events.ts'
import type { Store } from '#store/ports/store.ts'
import { SealError } from '#store/seal.ts'
import type { EventSight } from './narrow-event.ts'

export interface ReadEventsOptions {
  readonly store: { readonly events: Pick<Store['events'], 'readBodies'> } & {
    readonly consumers: Pick<Store['consumers'], 'listAfter' | 'findKept' | 'findFeed'>
  }
  /** Changes with every announcement of new events: no reading is shared across one. */
  readonly version: () => number
}

export interface EventsAsked {
  readonly userId: UserId
  /** The user's feed. */
  readonly feedId: FeedId
  readonly position: number
  /** A position that the feed is known to have reached. */
  readonly reached: number
  readonly types: readonly EventType[]
  readonly limit: number
  readonly sight: EventSight
}

export interface ReadEvent {
  readonly position: number
  /** UTF-8 JSON of one line. */
  readonly body: Uint8Array
}

export interface EventBatch {
  readonly events: readonly ReadEvent[]
  /** Up to here the feed was read; not before the last of the events. */
  readonly position: number
  /** The feed may have more behind the position now. */
  readonly isMore: boolean
}

/** @throws CursorExpired */
export type ReadEvents = (asked: EventsAsked) => Promise<EventBatch>

/** The events after the position are not kept; the first that are come after `oldest`. */
export class CursorExpired extends Error {
  override readonly name = 'CursorExpired'
  readonly oldest: number
  constructor(oldest: number) {
    super('events after the position are no longer kept')
    this.oldest = oldest
  }
}

/** The error for callers. */
export function cursorExpired(oldest: string) {
  return apiError('cursor_expired', { details: [`oldest: ${oldest}`] })
}

/** Rows of one query; those of other types are passed over. */
const rowsAtOnce = 250
/** Queries of one batch: events that the caller does not see take no request for ever. */
const maxQueries = 20
/** A batch ends behind the event with which it has as much, so that large events do not fill the memory. */
const enoughBytes = 1024 * 1024

/** Many may wait for the same events: who reads them at the same time shares one reading. */
export function makeReadEvents({ store, version }: ReadEventsOptions): ReadEvents {
  const running = new Map<string, Promise<EventBatch>>()
  return (asked) => {
    const name = JSON.stringify([{ ...asked, sight: asked.sight.name }, version()])
    const known = running.get(name)
    if (known !== undefined) return known
    const reading = read(store, asked).finally(() => running.delete(name))
    running.set(name, reading)
    return reading
  }
}

async function read(store: ReadEventsOptions['store'], asked: EventsAsked): Promise<EventBatch> {
  const { userId, types, limit, sight } = asked
  const chosen: FeedEventRow[] = []
  let { position } = asked
  let bytes = 0
  let isFull = false
  let isMore = true
  for (let query = 0; query < maxQueries && isMore && !isFull; query += 1) {
    const rows = await store.consumers.listAfter(userId, position, rowsAtOnce)
    isMore = rows.length === rowsAtOnce
    for (const row of rows) {
      // Positions have no gaps, but receipts are deleted in time.
      const isNext = row.isKept && row.position === position + 1
      isFull = !isNext || chosen.length >= limit || bytes >= enoughBytes
      if (isFull) {
        isMore = true
        if (isNext || position > asked.position) break
        throw await toExpired(store, userId, position)
      }
      position = row.position
      if (!types.includes(row.type) || !sight.sees(row)) continue
      chosen.push(row)
      bytes += row.size
    }
  }
  // Even their receipts are deleted.
  const isLost = position === asked.position && position < asked.reached
  if (isLost) throw await toExpired(store, userId, position)
  return open(store, sight, { chosen, position, isMore })
}

/** Where to go on behind what is not kept after the position. */
export async function toExpired(
  { consumers }: ReadEventsOptions['store'],
  userId: UserId,
  position: number,
): Promise<CursorExpired> {
  const kept = await consumers.findKept(userId, position)
  const feed = await consumers.findFeed(userId)
  return new CursorExpired(kept === null ? (feed?.lastPosition ?? position) : kept - 1)
}

interface Chosen {
  readonly chosen: readonly FeedEventRow[]
  readonly position: number
  readonly isMore: boolean
}

/**
 * A payload may be destroyed meanwhile, lack its key after a restore, or be damaged: then the batch ends
 * before it.
 * @throws CursorExpired where it is the first: up to the first one that can be opened.
 */
async function open(
  store: ReadEventsOptions['store'],
  sight: EventSight,
  { chosen, position, isMore }: Chosen,
): Promise<EventBatch> {
  if (chosen.length === 0) return { events: [], position, isMore }
  const bodies = await store.events.readBodies(chosen.map(({ id }) => id))
  const events: ReadEvent[] = []
  let isLost = false
  for (const row of chosen) {
    const body = await openBody(bodies.get(row.id))
    if (body === null && row !== chosen[0] && !isLost)
      return { events, position: row.position - 1, isMore: true }
    if (body === null) {
      isLost = true
      continue
    }
    if (isLost) throw new CursorExpired(row.position - 1)
    const seen = sight.narrow(body)
    if (seen !== null) events.push({ position: row.position, body: seen })
  }
  if (isLost) throw new CursorExpired(position)
  return { events, position, isMore }
}

async function openBody(body: SealedBody | undefined): Promise<Uint8Array | null> {
  try {
    return (await body?.open()) ?? null
  } catch (error) {
    if (error instanceof SealError) return null
    throw error
  }
}
