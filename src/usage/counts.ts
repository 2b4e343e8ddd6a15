/**
 * Counts the requests of identified callers by user, day in their zone, key or agent, door, operation and
 * result, in memory, and adds them to the store every ten seconds and at the end. On the path of a request it
 * is two look-ups and one increment. A kill loses what was counted since the last writing; a commit whose
 * confirmation was lost counts twice.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Caller } from '#auth/caller.ts'
import { agentOperations, type OperationName, operations } from '#contract/operations.ts'
import {
  type UsageDoor,
  type UsageOperation,
  type UsageResult,
  usageDoors,
  usageResults,
} from '#contract/usage.ts'
import type { PeriodicTask } from '#jobs/periodic.ts'
import type { UserId } from '#kernel/ids.ts'
import { type Clock, dayMs, getZone, toMicros, toMillis } from '#kernel/time.ts'
import {
  maxUsageReaders,
  otherReaders,
  type UsageRow,
  type UsageStore,
} from '#store/ports/usage.ts'
import type { ReadRecord } from '#telemetry/request-record.ts'

export interface UsageCountsOptions {
  readonly store: { readonly usage: Pick<UsageStore, 'add'> }
  readonly clock: Clock
  /** Requests that were not counted, because too many keys and agents waited to be written. */
  readonly onDropped: (requests: number) => void
  /** Bound of keys and agents by user and day in memory; a test sets a small one. */
  readonly maxTallies?: number
}

interface CountedRecord extends Pick<ReadRecord, 'caller' | 'operation' | 'status' | 'cache'> {
  readonly door: UsageDoor
}

export interface UsageCounts {
  /** Called once for each finished request. */
  count(record: CountedRecord): void
  /** Writes what one user's requests have counted here, so that a page shows them at once. */
  settle(userId: UserId): Promise<void>
  /** Writes everything. What could not be written stays for the next time. @throws what the store throws. */
  flush(): Promise<void>
  readonly task: PeriodicTask
}

/** Below 1.5 KB each. */
const defaultMaxTallies = 20_000
const flushEveryMs = 10_000
const batchRows = 500

/** The counts of one user on one day. */
interface Tally {
  readonly userId: UserId
  readonly zone: string
  readonly day: number
  readonly startsAt: number
  readonly endsAt: number
  /** By key or agent one number for each combination of door, operation and result. */
  readonly readers: Map<string, Uint32Array>
}

const names: readonly UsageOperation[] = [
  ...[...operations, ...agentOperations].map(({ name }) => name),
  'other',
]
const results: readonly UsageResult[] = usageResults
const slots = usageDoors.length * names.length * results.length
const namePlaces = new Map(names.map((name, at) => [name, at]))

interface Memory {
  readonly max: number
  /** Counts of the day that is now in the user's zone. */
  readonly current: Map<UserId, Tally>
  /** Counts of a day that has ended, or could not be written; by user and day. */
  readonly former: Map<string, Tally>
  /** Keys and agents of all tallies. */
  held: number
  dropped: number
}

interface Parts extends UsageCountsOptions {
  readonly memory: Memory
}

export function makeUsageCounts(options: UsageCountsOptions): UsageCounts {
  const { maxTallies: max = defaultMaxTallies } = options
  const memory: Memory = { max, current: new Map(), former: new Map(), held: 0, dropped: 0 }
  const parts: Parts = { ...options, memory }
  const flush = () => writeAll(parts)
  return {
    count: (record) => count(parts, record),
    settle: (userId) => write(parts, takeOf(memory, userId)),
    flush,
    task: { name: 'usage-flush', everyMs: flushEveryMs, firstRun: 'after_wait', run: flush },
  }
}

function count(
  { memory, clock }: Parts,
  { caller, door, operation, status, cache }: CountedRecord,
): void {
  if (caller === null) return
  const now = clock.now()
  const known = memory.current.get(caller.userId)
  const isToday =
    known !== undefined &&
    now < known.endsAt &&
    now >= known.startsAt &&
    known.zone === caller.timezone
  const tally = isToday ? known : open(memory, caller, now)
  const { bucketId } = caller
  const counts = tally.readers.get(bucketId) ?? openReader(memory, tally, bucketId)
  if (counts === null) memory.dropped += 1
  else add(counts, toSlot(door, operation, toResult(status, cache)), 1)
}

async function writeAll(parts: Parts): Promise<void> {
  const { memory } = parts
  const { dropped } = memory
  memory.dropped = 0
  if (dropped > 0) parts.onDropped(dropped)
  await write(parts, takeAll(memory))
}

/** Writes batch by batch; at the first failure, what was not written goes back into memory. */
async function write({ store, memory }: Parts, tallies: readonly Tally[]): Promise<void> {
  const rows = tallies.flatMap(toRows)
  for (let at = 0; at < rows.length; at += batchRows) {
    try {
      await store.usage.add(rows.slice(at, at + batchRows))
    } catch (error) {
      for (const row of rows.slice(at)) putBack(memory, row)
      throw error
    }
    await nextTurn()
  }
}

function toResult(status: number, cache: ReadRecord['cache']): UsageResult {
  if (status < 400) return cache
  if (status === 429) return 'limited'
  if (status === 499) return 'disconnected'
  return status < 500 ? 'refused' : 'failed'
}

function toSlot(door: UsageDoor, operation: OperationName | null, result: UsageResult) {
  const name = namePlaces.get(operation ?? 'other') ?? 0
  const place = usageDoors.indexOf(door) * names.length + name
  return place * results.length + results.indexOf(result)
}

function add(counts: Uint32Array, slot: number, requests: number): void {
  counts[slot] = (counts[slot] ?? 0) + requests
}

/** Begins the counts of a user on the day that is now in their zone. */
function open(memory: Memory, { userId, timezone }: Caller, now: number): Tally {
  const zone = getZone(timezone)
  const text = zone.dayOf(toMicros(now))
  const day = Math.round(Date.parse(text) / dayMs)
  const known = memory.current.get(userId)
  if (known !== undefined) {
    forget(memory, known)
    for (const row of toRows(known)) putBack(memory, row)
  }
  const tally: Tally = {
    userId,
    zone: timezone,
    day,
    startsAt: toMillis(zone.startOfDay(text)),
    endsAt: zone.endOfDay(text) / 1000,
    readers: new Map(),
  }
  // A tally without a reader is kept nowhere.
  if (memory.held < memory.max) memory.current.set(userId, tally)
  return tally
}

/** Begins the counts of a key or an agent; beyond a bound they are counted together. Null: no room. */
function openReader(memory: Memory, tally: Tally, reader: string): Uint32Array | null {
  const name = tally.readers.size < maxUsageReaders ? reader : otherReaders
  const known = tally.readers.get(name)
  if (known !== undefined) return known
  if (memory.held >= memory.max) return null
  const counts = new Uint32Array(slots)
  tally.readers.set(name, counts)
  memory.held += 1
  return counts
}

function forget(memory: Memory, tally: Tally): void {
  memory.current.delete(tally.userId)
  memory.held -= tally.readers.size
}

function putBack(memory: Memory, row: UsageRow): void {
  const { userId, day, reader, door, operation, result, requests } = row
  const name = `${userId} ${day}`
  let tally = memory.former.get(name)
  if (tally === undefined) {
    tally = { userId, zone: '', day, startsAt: 0, endsAt: 0, readers: new Map() }
    if (memory.held < memory.max) memory.former.set(name, tally)
  }
  const counts = tally.readers.get(reader) ?? openReader(memory, tally, reader)
  if (counts === null) memory.dropped += requests
  else add(counts, toSlot(door, operation === 'other' ? null : operation, result), requests)
}

function takeAll(memory: Memory): readonly Tally[] {
  const taken = [...memory.former.values(), ...memory.current.values()]
  memory.former.clear()
  memory.current.clear()
  memory.held = 0
  return merge(taken)
}

function takeOf(memory: Memory, userId: UserId): readonly Tally[] {
  const taken: Tally[] = []
  for (const [name, tally] of memory.former) {
    if (tally.userId !== userId) continue
    taken.push(tally)
    memory.former.delete(name)
    memory.held -= tally.readers.size
  }
  const own = memory.current.get(userId)
  if (own === undefined) return merge(taken)
  forget(memory, own)
  return merge([...taken, own])
}

/** One tally for each user and day: no two rows of a batch are the same row of the store. */
function merge(tallies: readonly Tally[]): readonly Tally[] {
  const merged = new Map<string, Tally>()
  for (const tally of tallies) {
    const name = `${tally.userId} ${tally.day}`
    const first = merged.get(name)
    if (first === undefined) merged.set(name, tally)
    else addTally(first, tally)
  }
  return [...merged.values()]
}

function addTally(first: Tally, { readers }: Tally): void {
  for (const [reader, counts] of readers) {
    const known = first.readers.get(reader)
    if (known === undefined) first.readers.set(reader, counts)
    else for (const [slot, requests] of counts.entries()) add(known, slot, requests)
  }
}

function toRows({ userId, day, readers }: Tally): readonly UsageRow[] {
  return [...readers].flatMap(([reader, counts]) =>
    toCounts(counts).map((count) => ({ userId, day, reader, ...count })),
  )
}

type Count = Pick<UsageRow, 'door' | 'operation' | 'result' | 'requests'>

function toCounts(counts: Uint32Array): readonly Count[] {
  const rows: Count[] = []
  for (const [slot, requests] of counts.entries()) {
    if (requests === 0) continue
    const place = Math.floor(slot / results.length)
    const door = usageDoors[Math.floor(place / names.length)]
    const operation = names[place % names.length]
    const result = results[slot % results.length]
    if (door === undefined || operation === undefined || result === undefined) continue
    rows.push({ door, operation, result, requests })
  }
  return rows
}
