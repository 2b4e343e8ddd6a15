/**
 * What a narrow caller sees of an event (reading R43): events of its connections and kinds of data, in them
 * the rows of its accounts; an agent, trades with the scope of brokers alone (reading R28). An event of which
 * rows are hidden is one of its own: its counts are those of the rows that are seen. A sync of which no row
 * is seen brought nothing: its first chunk says so, the others do not exist.
 */
import type { EventType } from '#contract/events.ts'
import type { KeyScope } from '#contract/key-scopes.ts'
import { listTrades, type Operation } from '#contract/operations.ts'
import { findReachable, hasKeyScope, type Reach } from '#contract/reach.ts'
import type { AccountId, ConnectionId, UserId } from '#kernel/ids.ts'
import { parseWithBigIntegers, toExactInteger } from '#kernel/json.ts'
import type { Store } from '#store/ports/store.ts'

/** What a caller may see of events. */
export interface EventViewer {
  /** Absent: everything. */
  readonly reach?: Reach | undefined
  /** What an agent was granted; absent: everything. */
  readonly scopes?: readonly Operation['scope'][]
}

export interface EventSight {
  /** Equal for callers who see the same. */
  readonly name: string
  /** Whether such an event may be read at all. */
  sees(event: { readonly type: EventType; readonly connectionId: ConnectionId | null }): boolean
  /** The body as it is seen; null: nothing of it is. */
  narrow(body: Uint8Array): Uint8Array | null
}

export const wholeSight: EventSight = { name: '', sees: () => true, narrow: (body) => body }

/** By the accounts that are linked now. */
export async function makeSight(
  store: { readonly accounts: Pick<Store['accounts'], 'list'> },
  userId: UserId,
  viewer: EventViewer,
): Promise<EventSight> {
  const { reach } = viewer
  const hasTrades = isGranted(viewer, 'trades.synced')
  if (reach === undefined && hasTrades) return wholeSight
  const connections = await findReachable(reach, () => store.accounts.list(userId))
  const accounts = reach?.accounts ?? null
  return {
    name: `${reach?.name ?? ''}${hasTrades ? '' : ' without trades'}`,
    sees: ({ type, connectionId }) =>
      isGranted(viewer, type) &&
      hasKeyScope(reach, scopeOf(type)) &&
      (connections === null || (connectionId !== null && connections.has(connectionId))),
    narrow: (body) => (accounts === null ? body : narrow(body, accounts)),
  }
}

/** Trades are what the person sees named beside the scope of brokers. */
export function isGranted({ scopes }: EventViewer, type: EventType): boolean {
  return type !== 'trades.synced' || scopes === undefined || scopes.includes(listTrades.scope)
}

/** The kind of data that an event has. */
export function scopeOf(type: EventType): KeyScope {
  if (type === 'transactions.synced') return 'transactions'
  return type === 'trades.synced' ? 'trades' : 'accounts'
}

interface Envelope {
  readonly data: Readonly<Record<string, unknown>>
  readonly metadata: Readonly<Record<string, unknown>>
}

interface Row {
  readonly account_id?: AccountId
}

function narrow(body: Uint8Array, accounts: ReadonlySet<AccountId>): Uint8Array | null {
  const envelope = parseWithBigIntegers(Buffer.from(body).toString('utf8')) as Envelope
  let [hidden, seen] = [0, 0]
  const keep = (rows: readonly Row[]) => {
    const kept = rows.filter((row) => row.account_id !== undefined && accounts.has(row.account_id))
    hidden += rows.length - kept.length
    seen += kept.length
    return kept
  }
  const data = Object.fromEntries(
    Object.entries(envelope.data).map(([name, rows]) => [
      name,
      Array.isArray(rows) ? keep(rows) : rows,
    ]),
  )
  if (hidden === 0) return isWholeRun(envelope) ? body : write(envelope, data)
  return seen === 0 && envelope.metadata.chunk !== 1 ? null : write(envelope, data)
}

/** Counts of a run in several chunks may be of rows that are not seen. */
function isWholeRun({ data, metadata }: Envelope): boolean {
  const counts = (rows: unknown) => (Array.isArray(rows) ? rows.length : 0)
  return metadata.new_count === counts(data.new) && metadata.updated_count === counts(data.updated)
}

function write(envelope: Envelope, data: Readonly<Record<string, unknown>>): Uint8Array {
  const countOf = (name: string) => {
    const rows = data[name]
    return Array.isArray(rows) ? rows.length : 0
  }
  const metadata = {
    ...envelope.metadata,
    new_count: countOf('new'),
    updated_count: countOf('updated'),
    chunk: 1,
    total_chunks: 1,
  }
  const exact = (_key: string, value: unknown) =>
    typeof value === 'bigint' ? toExactInteger(value) : value
  return Buffer.from(JSON.stringify({ ...envelope, data, metadata }, exact))
}
