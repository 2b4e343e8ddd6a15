/**
 * One table of a copy: its rows are sent in batches, read back in the same order, and compared by their number and by the
 * SHA-256 of their bytes in PostgreSQL's binary format.
 */
import { createHash } from 'node:crypto'
import type { SQLOutputValue } from 'node:sqlite'
import type { Client } from 'pg'
import { StoreCopyError } from '../failure.ts'
import { header, makeRowWriter, RowBuffer, trailer } from './binary-rows.ts'
import { type CopyPlace, quote, type SourceTable } from './copy-source.ts'
import { copyIn, copyOut } from './copy-stream.ts'

/** Of one statement, which the server may end after a bounded time. */
const rowsAtOnce = 100_000
const chunkBytes = 64 * 1024

export interface CopiedTable {
  readonly place: CopyPlace
  readonly name: string
  readonly rows: number
  /** Of the rows by their primary key, in PostgreSQL's binary format. */
  readonly sha256: string
}

export interface TableTarget {
  readonly client: Client
  readonly schema: string
}

/**
 * Copies the rows and verifies them; runs in a transaction of `client`.
 * @param onRows how many rows were sent so far.
 * @throws StoreCopyError for a value that PostgreSQL cannot hold, or for a difference.
 */
export async function copyTable(
  { client, schema }: TableTarget,
  table: SourceTable,
  onRows: (rows: number) => void,
): Promise<CopiedTable> {
  const name = `${quote(schema)}.${quote(table.name)}`
  const columns = table.columns.map((column) => quote(column.name)).join(', ')
  const sent = createHash('sha256')
  const sending = new Sending(table, (bytes) => sent.update(bytes))
  let rows = 0
  while (sending.hasMore()) {
    rows += await copyIn(
      client,
      `copy ${name} (${columns}) from stdin (format binary, freeze)`,
      sending.nextBatch(),
    )
    onRows(rows)
  }
  sending.close()
  const found = createHash('sha256')
  const take = withoutEnds((bytes) => found.update(bytes))
  const rowsFound = await copyOut(
    client,
    `copy (select ${columns} from ${name} order by ${orderOf(table)}) to stdout (format binary)`,
    take,
  )
  await client.query(`analyze ${name}`)
  const sha256 = sent.digest('hex')
  if (rowsFound !== sending.rows || rows !== sending.rows || found.digest('hex') !== sha256)
    throw new StoreCopyError(
      `the table ${table.name} was not copied exactly: ${sending.rows} rows were read and ${rowsFound} are there, or their bytes differ. Nothing was kept; report this`,
    )
  return { place: table.place, name: table.name, rows, sha256 }
}

/** As SQLite sorts: text by its bytes. The other types sort alike on both. */
function orderOf({ columns, keyColumns }: SourceTable): string {
  return keyColumns
    .map((name) => {
      const isText = columns.some((column) => column.name === name && column.type === 'text')
      return isText ? `${quote(name)} collate "C"` : quote(name)
    })
    .join(', ')
}

/** The rows of a table, batch by batch. */
class Sending {
  /** Read so far. */
  rows = 0
  readonly #source: Iterator<readonly SQLOutputValue[]>
  readonly #write: ReturnType<typeof makeRowWriter>
  readonly #onBytes: (bytes: Uint8Array) => void
  #next: IteratorResult<readonly SQLOutputValue[]>

  constructor(table: SourceTable, onBytes: (bytes: Uint8Array) => void) {
    this.#source = table.rows()[Symbol.iterator]()
    this.#write = makeRowWriter(table.columns, (row) => nameRow(table, row))
    this.#onBytes = onBytes
    this.#next = this.#source.next()
  }

  hasMore(): boolean {
    return this.#next.done !== true
  }

  /** Chunks of one statement. */
  *nextBatch(): Generator<Uint8Array> {
    yield header
    const out = new RowBuffer()
    for (let count = 0; count < rowsAtOnce && this.#next.done !== true; count += 1) {
      this.#write(out, this.#next.value)
      this.rows += 1
      this.#next = this.#source.next()
      if (out.used >= chunkBytes) yield this.#take(out)
    }
    if (out.used > 0) yield this.#take(out)
    yield trailer
  }

  close(): void {
    this.#source.return?.()
  }

  #take(out: RowBuffer): Buffer {
    const bytes = out.take()
    this.#onBytes(bytes)
    return bytes
  }
}

/** By its primary key, for an operator who looks for it. */
function nameRow(table: SourceTable, row: readonly SQLOutputValue[]): string {
  const parts = table.keyColumns.map((name) => {
    const value = row[table.columns.findIndex((column) => column.name === name)]
    const text = value instanceof Uint8Array ? `x'${Buffer.from(value).toString('hex')}'` : value
    return `${name} = ${String(text).slice(0, 100)}`
  })
  return `the row ${parts.join(', ')} of the table ${table.name}`
}

/** Passes on what stands between the header and the trailer, however it is divided. */
export function withoutEnds(take: (bytes: Uint8Array) => void): (chunk: Uint8Array) => void {
  let left = header.length
  let held: Uint8Array = new Uint8Array(0)
  return (chunk) => {
    const skipped = Math.min(left, chunk.length)
    left -= skipped
    const rest = chunk.subarray(skipped)
    if (rest.length === 0) return
    const bytes = held.length === 0 ? rest : Buffer.concat([held, rest])
    const end = Math.max(0, bytes.length - trailer.length)
    take(bytes.subarray(0, end))
    // A copy: the driver uses the memory of the chunk again.
    held = Uint8Array.from(bytes.subarray(end))
  }
}
