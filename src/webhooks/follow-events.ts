/**
 * Follows a user's events for one request (reading R42): finds its consumer and its place in the feed,
 * acknowledges what the cursor says was received, reads, and waits for more. Nothing is missed between
 * reading and waiting.
 */
import { apiError } from '#contract/errors.ts'
import { defaultTypes, type EventsQuery, sightMark } from '#contract/event-query.ts'
import type { EventType } from '#contract/events.ts'
import { listTrades } from '#contract/operations.ts'
import { hasKeyScope, type Reach } from '#contract/reach.ts'
import type { FeedId, UserId } from '#kernel/ids.ts'
import { type Clock, minuteMs } from '#kernel/time.ts'
import type { ConsumerRow, ConsumerState } from '#store/ports/consumers.ts'
import type { Store } from '#store/ports/store.ts'
import { makeFindConsumer } from './consumers.ts'
import { type Cursors, type FeedCursor, makeCursors } from './cursor.ts'
import { makeEventWaits, type Woken } from './event-waits.ts'
import { type EventSight, type EventViewer, isGranted, makeSight, scopeOf } from './narrow-event.ts'
import {
  CursorExpired,
  cursorExpired,
  type EventBatch,
  makeReadEvents,
  type ReadEvents,
  toExpired,
} from './read-events.ts'

export interface FollowOptions {
  readonly store: Pick<
    Store,
    'transact' | 'consumers' | 'events' | 'accounts' | 'onFeed' | 'onChange'
  >
  readonly clock: Clock
  /** Sign cursors: the first of them the new ones. */
  readonly cursorSecrets: readonly Uint8Array[]
  /** How many requests of this process wait at once. */
  readonly maxWaits: number
}

export interface FollowedEvent {
  /** The cursor behind it. */
  readonly cursor: string
  /** As webhook endpoints get it: UTF-8 JSON of one line. */
  readonly body: Uint8Array
}

export interface FollowedBatch {
  readonly events: readonly FollowedEvent[]
  /** The cursor to go on with; not before the last of the events. */
  readonly next: string
  /** There may be more behind it now: to be read before a wait. */
  readonly isMore: boolean
}

/** One request's place in the feed. */
export interface Following {
  /**
   * The events from its place on, at once; then its place is behind them.
   * @throws ApiError `cursor_expired`
   */
  read(): Promise<FollowedBatch>
  /** Resolves when there may be more, or something else has happened. */
  wait(timeoutMs: number): Promise<Woken>
  /** Ends a wait. To be called at the end of every request. */
  leave(): void
}

/** Who asks, and what they may see. */
export interface FollowingCaller extends EventViewer {
  readonly userId: UserId
}

export interface EventFollower {
  /** @throws ApiError `insufficient_scope`, `invalid_params`, `too_many_consumers`, `cursor_expired` */
  begin(caller: FollowingCaller, query: EventsQuery): Promise<Following>
  /** How many requests wait now. */
  count(): number
  /** Ends every wait: the process is stopping. */
  end(): void
  close(): void
}

/** What every door fetches events with: it begins at a cursor, and waits for what comes after it. */
export function makeEventFollower(options: FollowOptions): EventFollower {
  const { store, clock } = options
  const waits = makeEventWaits(options)
  const cursors = makeCursors(options.cursorSecrets)
  const readEvents = makeReadEvents({ store, version: waits.version })
  const findConsumer = makeFindConsumer({ store, clock })
  const tools: Tools = { readEvents, cursors, followed: new WeakMap() }
  return {
    async begin(caller, query) {
      const { userId, reach } = caller
      demandGranted(caller, query.types ?? [])
      const cursor = await readCursor(options, cursors, userId, query.after)
      const wait = waits.join(userId)
      try {
        const state = await findConsumer(userId, nameConsumer(query.consumer, reach))
        if (cursor !== null) await demandValid(options, cursors, state, cursor)
        const position = cursor?.position ?? state.consumer.acknowledged
        await note(options, state.consumer, position)
        const { types = defaultTypes, limit } = query
        const reached = state.feed.lastPosition
        const place: Place = {
          ...{ userId, feedId: state.feed.id, position, reached, types, limit },
          sight: await makeSight(store, userId, caller),
          isAtEnd: position >= reached,
          isFromCursor: cursor !== null,
        }
        return {
          read: () => readOn(tools, place),
          async wait(timeoutMs) {
            const woken = await wait.next(timeoutMs)
            if (woken !== 'time') place.isAtEnd = false
            return woken
          },
          leave: () => wait.leave(),
        }
      } catch (error) {
        wait.leave()
        throw error
      }
    },
    count: waits.count,
    end: waits.end,
    close: waits.close,
  }
}

/** What is asked for by name is refused; without names the caller gets what it may see. */
function demandGranted(caller: FollowingCaller, types: readonly EventType[]): void {
  for (const type of types) {
    const scope = scopeOf(type)
    if (!isGranted(caller, type)) {
      throw apiError('insufficient_scope', {
        message: `The access token lacks the scope ${listTrades.scope}, which ${type} needs; authorize again and allow it`,
      })
    }
    if (!hasKeyScope(caller.reach, scope)) {
      throw apiError('key_lacks_scope', {
        message: `This key lacks the scope ${scope}, which ${type} needs; use a key that has it`,
      })
    }
  }
}

/** Characters of a reach's name that tell it from others of one person. */
const reachNameLength = 12

/**
 * Those who see less are other consumers: what one of them acknowledges, others may not have seen.
 */
function nameConsumer(name: string, reach: Reach | undefined): string {
  return reach === undefined ? name : `${name}${sightMark}${reach.name.slice(0, reachNameLength)}`
}

async function readCursor(
  { store }: FollowOptions,
  cursors: Cursors,
  userId: UserId,
  text: string | undefined,
): Promise<FeedCursor | null> {
  if (text === undefined) return null
  const cursor = cursors.read(userId, text)
  if (cursor !== null) return cursor
  const feed = await store.consumers.findFeed(userId)
  // The key that signed it was replaced since: its position is not known for sure.
  if (feed !== null && cursors.readFeed(text) === feed.id) {
    throw await toOldest(store, cursors, userId, feed.id)
  }
  throw apiError('invalid_params', { details: ['after: is not a cursor of this user'] })
}

/** Says the oldest cursor of the feed, from which nothing that is kept is passed over. */
async function toOldest(
  store: FollowOptions['store'],
  cursors: Cursors,
  userId: UserId,
  feedId: FeedId,
) {
  const { oldest } = await toExpired(store, userId, 0)
  return cursorExpired(cursors.write(userId, { feedId, position: oldest }))
}

/**
 * A cursor behind the newest event was given before a backup was restored: other events come to the places
 * that it passes over. The feed becomes another one, so that no cursor of that time is valid in it.
 */
async function demandValid(
  { store }: FollowOptions,
  cursors: Cursors,
  { consumer: { userId }, feed }: ConsumerState,
  { feedId, position }: FeedCursor,
): Promise<void> {
  const isOfFeed = feedId === feed.id
  if (isOfFeed && position <= feed.lastPosition) return
  if (isOfFeed) await store.consumers.renewFeed(userId, feedId)
  const { id } = (await store.consumers.findFeed(userId)) ?? feed
  throw await toOldest(store, cursors, userId, id)
}

/** Record a waiting consumer at most once a minute. */
const noteEveryMs = minuteMs

async function note(
  { store, clock }: FollowOptions,
  { id, acknowledged, askedAt }: ConsumerRow,
  position: number,
): Promise<void> {
  const at = clock.now()
  const isNews = position > acknowledged || Math.abs(at - askedAt) >= noteEveryMs
  if (isNews) await store.consumers.acknowledge(id, { position, at })
}

interface Place {
  readonly userId: UserId
  readonly feedId: FeedId
  position: number
  /** A position that the feed is known to have reached. */
  readonly reached: number
  /** Nothing is known behind it: nothing need be read. */
  isAtEnd: boolean
  /** Without one, what was lost before the oldest kept event was not promised. */
  isFromCursor: boolean
  readonly types: readonly EventType[]
  readonly limit: number
  readonly sight: EventSight
}

interface Tools {
  readonly readEvents: ReadEvents
  readonly cursors: Cursors
  /** Who shares a reading shares what is made of it: many may wait for the same events. */
  readonly followed: WeakMap<EventBatch, FollowedBatch>
}

async function readOn(tools: Tools, place: Place): Promise<FollowedBatch> {
  const { readEvents, cursors, followed } = tools
  const { userId, feedId, position, reached, types, limit, sight } = place
  const write = (at: number) => cursors.write(userId, { feedId, position: at })
  if (place.isAtEnd) return { events: [], next: write(position), isMore: false }
  try {
    const asked = { userId, feedId, position, reached, types, limit, sight }
    const batch = await readEvents(asked)
    place.position = batch.position
    place.isFromCursor = true
    return followed.getOrInsertComputed(batch, () => {
      const events = batch.events.map((event) => ({
        cursor: write(event.position),
        body: event.body,
      }))
      return { events, next: write(batch.position), isMore: batch.isMore }
    })
  } catch (error) {
    if (!(error instanceof CursorExpired)) throw error
    if (place.isFromCursor) throw cursorExpired(write(error.oldest))
    place.position = error.oldest
    place.isFromCursor = true
    return readOn(tools, place)
  }
}
