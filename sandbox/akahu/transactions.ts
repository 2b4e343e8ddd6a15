/**
 * The paged transaction lists of the Akahu emulator: 100 rows a page, `start` exclusive, `end` inclusive,
 * opaque cursors that are valid for their own query only, and (if configured) empty pages in the middle.
 */
import { dayMs, type Micros, parseInstant, toIso, toMicros, toMillis } from '#kernel/time.ts'
import type { EmulatorReply, EmulatorRequest } from '../emulator.ts'
import type { AkahuAccount, AkahuPerson, AkahuRow } from './people.ts'
import { itemsReply, numberToken, refusal } from './wire.ts'

const pageSize = 100
const defaultDays = 30

/** The content of a cursor, encoded as base64url: where to continue, and its query. */
interface Position {
  readonly of: string
  readonly page: number
  /** The row after which to continue; null: from the beginning. */
  readonly after: { readonly date: string; readonly id: string } | null
}

/** One page of the rows of these accounts. */
export function transactionsPage(
  request: EmulatorRequest,
  person: AkahuPerson,
  accounts: readonly AkahuAccount[],
  now: number,
): EmulatorReply {
  const range = readRange(request.query, now)
  if (range === null) return refusal(400, 'start and end must be ISO 8601 timestamps')
  const of = `${request.path}|${request.query.get('start')}|${request.query.get('end')}`
  const position = readCursor(request.query.get('cursor'), of)
  if (position === null) return refusal(400, 'Invalid cursor')
  const due = person.emptyPageEvery
  if (due !== null && position.page % (due + 1) === due) {
    return itemsReply([], writeCursor({ ...position, page: position.page + 1 }))
  }
  const rows = accounts
    .flatMap((account) => account.rows.map((row) => ({ row, account })))
    .filter(({ row }) => isWithin(row, range) && isAfter(row, position.after))
    .sort((left, right) => compareRows(left.row, right.row))
  const page = rows.slice(0, pageSize)
  const last = page.at(-1)
  const next =
    last !== undefined && rows.length > pageSize
      ? writeCursor({
          of,
          page: position.page + 1,
          after: { date: last.row.date, id: last.row._id },
        })
      : null
  return itemsReply(
    page.map(({ row, account }) => toWire(row, account, person)),
    next,
  )
}

/** Bounds as canonical UTC text with milliseconds, the form of every row's `date`: they compare as text. */
interface Range {
  readonly after: string
  readonly until: string
  /** Rows that are made later today have not been posted yet; a row may be dated later than it was made. */
  readonly present: string
}

/** Null when a bound is no timestamp: a bare day or a time without an offset is refused. */
function readRange(query: URLSearchParams, now: number): Range | null {
  const start = query.get('start')
  const end = query.get('end')
  const after = start === null ? toMicros(now - defaultDays * dayMs) : parseInstant(start)
  const until = end === null ? toMicros(now) : parseInstant(end)
  if (after === null || until === null) return null
  return { after: toText(after), until: toText(until), present: toText(toMicros(now)) }
}

/** Milliseconds are the resolution of the real one, too. */
function toText(instant: Micros): string {
  return toIso(toMillis(instant))
}

function isWithin(row: AkahuRow, range: Range): boolean {
  return row.date > range.after && row.date <= range.until && row.created_at <= range.present
}

function isAfter(row: AkahuRow, after: Position['after']): boolean {
  if (after === null) return true
  return compareRows(row, { date: after.date, _id: after.id }) > 0
}

/** Newest first; rows of one moment by id, so that a page border between them loses none. */
function compareRows(
  left: Pick<AkahuRow, 'date' | '_id'>,
  right: Pick<AkahuRow, 'date' | '_id'>,
): number {
  if (left.date !== right.date) return left.date < right.date ? 1 : -1
  return left._id < right._id ? -1 : left._id > right._id ? 1 : 0
}

function writeCursor(position: Position): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url')
}

function readCursor(text: string | null, of: string): Position | null {
  if (text === null) return { of, page: 0, after: null }
  try {
    const position: Position = JSON.parse(Buffer.from(text, 'base64url').toString())
    return position.of === of ? position : null
  } catch {
    // An invalid cursor is answered like one of another query.
    return null
  }
}

/** A row as it is sent. */
export function toWire(row: AkahuRow, account: AkahuAccount, person: AkahuPerson): unknown {
  const { overrides, merchant, category, seenFrom: _, ...plain } = row
  const enrichment = person.enriched ? { merchant, category } : {}
  return {
    ...plain,
    _account: account._id,
    _connection: account.connection._id,
    _user: person.user._id,
    hash: `acc_${row._id.slice(-12)}`,
    amount: numberToken(row.amount),
    balance: row.balance === undefined ? undefined : numberToken(row.balance),
    ...enrichment,
    ...overrides,
  }
}

/** A pending row as it is sent: no id, no balance. */
export function toPendingWire(
  row: Omit<AkahuRow, '_id'>,
  account: AkahuAccount,
  person: AkahuPerson,
): unknown {
  return {
    _account: account._id,
    _connection: account.connection._id,
    _user: person.user._id,
    // The day of the purchase; that of the posting is not known yet.
    date: row.seenFrom ?? row.date,
    updated_at: row.seenFrom ?? row.updated_at,
    description: row.description,
    amount: numberToken(row.amount),
    type: row.type,
  }
}
