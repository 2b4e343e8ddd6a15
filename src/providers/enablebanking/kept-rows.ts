/**
 * The rows of a reading as bytes: a first line that says where each day lies, then blocks of whole days, each
 * compressed for itself, and the pending rows. A page opens the block that it shows, not the years around it.
 * Rows are JSON, each with a comma behind it, so that neighbouring days are a list once they stand between
 * brackets.
 */
import { pack, unpack } from '#kernel/packed.ts'
import { type AnyRow, isReadable, type KeptRows } from './rows.ts'

/** A day: its rows end `end` bytes behind the beginning of its block, once that is opened. */
interface DayPlace {
  /** Null: rows of an unknown day, before all others. */
  readonly day: string | null
  readonly end: number
}

/** Neighbouring days, newest first. */
interface Block {
  readonly days: readonly DayPlace[]
  /** Where it ends, compressed, behind the first line. */
  readonly end: number
}

interface Index {
  /** Rows of any status. */
  readonly count: number
  /** The pending rows lie behind the last one. */
  readonly blocks: readonly Block[]
}

/** Rows of a block, and of a page: one day may have more, and the last block fewer. */
export const rowsPerBlock = 1000

/** Compressed outside the main thread. */
export async function packRows({ rows, pending, count }: KeptRows): Promise<Uint8Array> {
  const blocks: Block[] = []
  const packed: Uint8Array[] = []
  let end = 0
  for (const days of groupDays(rows)) {
    const texts = days.map(toBytes)
    const bytes = await pack(Buffer.concat(texts))
    packed.push(bytes)
    end += bytes.length
    let dayEnd = 0
    const places = days.map((ofDay, at): DayPlace => {
      dayEnd += texts[at]?.length ?? 0
      return { day: ofDay[0]?.day ?? null, end: dayEnd }
    })
    blocks.push({ days: places, end })
  }
  const index: Index = { count, blocks }
  const last = await pack(toBytes(pending))
  return Buffer.concat([Buffer.from(`${JSON.stringify(index)}\n`), ...packed, last])
}

const toBytes = (rows: readonly AnyRow[]): Buffer =>
  Buffer.from(rows.map((row) => `${JSON.stringify(row)},`).join(''))

/** By block, then by day. Rows of an unknown day are never the end of a block: no day leads on from them. */
function groupDays(rows: readonly AnyRow[]): readonly AnyRow[][][] {
  const blocks: AnyRow[][][] = []
  let [block, count]: [AnyRow[][], number] = [[], 0]
  for (const [day, ofDay] of Map.groupBy(rows, ({ day }) => day)) {
    if (block.length === 0) blocks.push(block)
    block.push(ofDay)
    count += ofDay.length
    if (count >= rowsPerBlock && day !== null) [block, count] = [[], 0]
  }
  return blocks
}

export interface RowsSlice {
  /** Rows of any status in the whole reading: they prove that the consent is alive. */
  readonly count: number
  /** For `parseRows`. */
  readonly rows: Uint8Array
  /** The rows before this day come next; null: there are none. */
  readonly until: string | null
}

interface OpenRows extends Index {
  /** What lies behind the first line. */
  readonly rest: Buffer
}

function openKeptRows(body: Uint8Array): OpenRows {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const start = bytes.indexOf('\n') + 1
  // Nothing else was ever kept as the first line.
  const index = JSON.parse(bytes.toString('utf8', 0, start)) as Index
  return { ...index, rest: bytes.subarray(start) }
}

/** Rows that were kept. */
export function parseRows(bytes: Uint8Array): readonly AnyRow[] {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
  return JSON.parse(`[${text.slice(0, -1)}]`) as AnyRow[]
}

/** The rows that are not booked yet. */
export async function readKeptPending(body: Uint8Array): Promise<readonly AnyRow[]> {
  const { blocks, rest } = openKeptRows(body)
  return parseRows(await unpack(rest.subarray(blocks.at(-1)?.end ?? 0)))
}

/** The currency of the newest day's rows, where they have one alone. */
export async function findKeptCurrency(body: Uint8Array): Promise<string | null> {
  const { rows } = await sliceKeptRows(body, { until: null, isFirst: true })
  const readable = parseRows(rows).filter(isReadable)
  const newest = readable.filter(({ day }) => day === readable[0]?.day)
  const [currency = null, ...others] = new Set(newest.map((row) => row.currency))
  return others.length === 0 ? currency : null
}

/** Where a page begins. */
export interface SliceStart {
  /** Its rows are before this day; null: the newest of all. */
  readonly until: string | null
  /** The first page of a list also has the rows of an unknown day. */
  readonly isFirst: boolean
}

/** Whole days, the newest ones first, to the end of the block in which the first of them lies. */
export async function sliceKeptRows(
  body: Uint8Array,
  { until, isFirst }: SliceStart,
): Promise<RowsSlice> {
  const { count, blocks, rest } = openKeptRows(body)
  const isBefore = ({ day }: DayPlace) => until === null || (day === null ? isFirst : day < until)
  const at = blocks.findIndex(({ days }) => days.some(isBefore))
  const block = blocks[at]
  if (block === undefined) return { count, rows: new Uint8Array(), until: null }
  const packed = rest.subarray(blocks[at - 1]?.end ?? 0, block.end)
  const first = block.days.findIndex(isBefore)
  const rows = (await unpack(packed)).subarray(block.days[first - 1]?.end ?? 0)
  return { count, rows, until: at === blocks.length - 1 ? null : (block.days.at(-1)?.day ?? null) }
}
