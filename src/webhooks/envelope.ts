/**
 * Makes the events of one sync run: chunks of bounded size, each with its own envelope (contract, Events;
 * readings R32, R33). Objects are passed as JSON text and never parsed here: an amount must not become a
 * float, and a replay must have the bytes of the original.
 */

import { apiVersion, chunkLimits, type SyncEventType } from '#contract/events.ts'
import {
  type ConnectionId,
  type EventId,
  newTimedId,
  type SyncRunId,
  type UserId,
} from '#kernel/ids.ts'
import type { Millis } from '#kernel/time.ts'
import type { NewEvent } from '#store/ports/events.ts'

/** What one run found. */
export interface EventDraft {
  readonly userId: UserId
  /** Null: a test event. */
  readonly connectionId: ConnectionId | null
  readonly runId: SyncRunId | null
  readonly type: SyncEventType
  readonly createdAt: Millis
  /** One JSON object each, in the order in which they are sent. */
  readonly new: readonly string[]
  readonly updated: readonly string[]
  /**
   * For endpoints that ask for pending rows (reading R39): those that are news, and the ids of those that are
   * not pending any more. Null: for the other endpoints. Absent: the same for all.
   */
  readonly pending?: {
    readonly rows: readonly string[]
    readonly removed: readonly string[]
  } | null
}

/** The counts of the run and the place of the chunk in it. */
interface Place {
  readonly newCount: number
  readonly updatedCount: number
  readonly chunk: number
  readonly totalChunks: number
}

interface Chunk {
  readonly new: string[]
  readonly updated: string[]
  readonly pending: string[]
  /** JSON texts of ids. */
  readonly removed: string[]
}

const makeChunk = (): Chunk => ({ new: [], updated: [], pending: [], removed: [] })

/**
 * The events of a run, in their order, each made when it is asked for: at most 100 objects and 64 KiB each; a
 * larger object has its own event. A run without new or updated rows gives one event without objects.
 */
export function* makeEvents(draft: EventDraft): Generator<NewEvent, void> {
  const newCount = draft.new.length
  const updatedCount = draft.updated.length
  const chunks = toChunks(draft)
  for (const [index, chunk] of chunks.entries()) {
    const id = newTimedId<EventId>()
    const place = { newCount, updatedCount, chunk: index + 1, totalChunks: chunks.length }
    yield {
      id,
      userId: draft.userId,
      connectionId: draft.connectionId,
      runId: draft.runId,
      type: draft.type,
      chunk: place.chunk,
      totalChunks: place.totalChunks,
      isEmpty: newCount + updatedCount + countPending(draft) === 0,
      hasPending: draft.pending === undefined ? null : draft.pending !== null,
      createdAt: draft.createdAt,
      body: Buffer.from(writeEnvelope(id, draft, chunk, place)),
    }
  }
}

function toChunks(draft: EventDraft): readonly Chunk[] {
  const frameBytes = measureFrame(draft)
  const chunks: Chunk[] = []
  let chunk = makeChunk()
  let count = 0
  let bytes = frameBytes
  const add = (kind: keyof Chunk, text: string) => {
    // The comma before it counts.
    const size = Buffer.byteLength(text) + 1
    const isFull = count === chunkLimits.maxObjects || bytes + size > chunkLimits.maxBytes
    if (isFull && count > 0) {
      chunks.push(chunk)
      chunk = makeChunk()
      count = 0
      bytes = frameBytes
    }
    chunk[kind].push(text)
    count += 1
    bytes += size
  }
  for (const text of draft.new) add('new', text)
  for (const text of draft.updated) add('updated', text)
  for (const text of draft.pending?.rows ?? []) add('pending', text)
  for (const id of draft.pending?.removed ?? []) add('removed', JSON.stringify(id))
  return [...chunks, chunk]
}

const countPending = ({ pending }: EventDraft): number =>
  pending ? pending.rows.length + pending.removed.length : 0

/** Bytes of the envelope without objects, with the longest numbers that a run of this many rows can have. */
function measureFrame(draft: EventDraft): number {
  const newCount = draft.new.length
  const updatedCount = draft.updated.length
  const most = Math.max(1, newCount + updatedCount + countPending(draft))
  const place = { newCount, updatedCount, chunk: most, totalChunks: most }
  return Buffer.byteLength(writeEnvelope(newTimedId(), draft, makeChunk(), place))
}

/** Keys in the order of the contract, metadata last. */
function writeEnvelope(id: EventId, draft: EventDraft, chunk: Chunk, place: Place): string {
  const head = {
    id,
    object: 'event',
    type: draft.type,
    api_version: apiVersion,
    created: Math.floor(draft.createdAt / 1000),
  }
  const metadata = {
    sync_run_id: draft.runId,
    new_count: place.newCount,
    updated_count: place.updatedCount,
    chunk: place.chunk,
    total_chunks: place.totalChunks,
  }
  const pending = `,"pending":[${chunk.pending.join(',')}],"removed_pending":[${chunk.removed.join(',')}]`
  const more = draft.pending ? pending : ''
  const data = `{"new":[${chunk.new.join(',')}],"updated":[${chunk.updated.join(',')}]${more}}`
  return `${JSON.stringify(head).slice(0, -1)},"data":${data},"metadata":${JSON.stringify(metadata)}}`
}

const metadataMark = '"metadata":{'
const ending =
  /^"metadata":\{"sync_run_id":(?:"[0-9a-f-]{36}"|null)(,"new_count":\d+,"updated_count":\d+,"chunk":\d+,"total_chunks":\d+\}\})$/

/**
 * The body of a replay: that of the original, byte for byte, but for `sync_run_id`, which is null (contract,
 * Events).
 * @throws Error for a body that is not an envelope of ours.
 */
export function toReplay(body: Uint8Array): Uint8Array {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const at = bytes.lastIndexOf(metadataMark)
  const rest = at === -1 ? null : ending.exec(bytes.toString('latin1', at))?.[1]
  if (rest === null || rest === undefined) throw new Error('the body of an event has no metadata')
  return Buffer.concat([
    bytes.subarray(0, at),
    Buffer.from(`${metadataMark}"sync_run_id":null${rest}`),
  ])
}
