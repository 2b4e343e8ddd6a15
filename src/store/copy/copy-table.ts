/**
 * One table of a copy: its rows are sent in batches, read back in the same order, and compared by their
 * number and by the SHA-256 of PostgreSQL's text of them.
 */
import { createHash } from 'node:crypto'
import type { SQLOutputValue } from 'node:sqlite'
import type { Client } from 'pg'
import { StoreCopyError } from '../failure.ts'
import { type CopyPlace, quoteName, type SourceTable } from './copy-source.ts'
import { copyIn, copyOut } from './copy-stream.ts'
import { makeToLine, textSettings } from './text-rows.ts'

/** Rows of one statement, which the server may end after a bounded time. */
const rowsAtOnce = 100_000
const chunkLength = 64 * 1024

export interface CopiedTable {
  readonly place: CopyPlace
  readonly name: string
  readonly rows: number
  /** The digest of the rows by their primary key, in PostgreSQL's text format of COPY. */
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
  const name = `${quoteName(schema)}.${quoteName(table.name)}`
  const columns = table.columns.map((column) => quoteName(column.name)).join(', ')
  const sent = createHash('sha256')
  const sending = new Sending(table, (bytes) => sent.update(bytes))
  let rows = 0
  await client.query(textSettings)
  while (sending.hasMore()) {
    rows += await copyIn(
      client,
      `copy ${name} (${columns}) from stdin (freeze)`,
      sending.nextBatch(),
    )
    onRows(rows)
  }
  sending.close()
  const found = createHash('sha256')
  const rowsFound = await copyOut(
    client,
    `copy (select ${columns} from ${name} order by ${orderOf(table)}) to stdout`,
    (bytes) => found.update(bytes),
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
      return isText ? `${quoteName(name)} collate "C"` : quoteName(name)
    })
    .join(', ')
}

/** The rows of a table, batch by batch. */
class Sending {
  /** Read so far. */
  rows = 0
  readonly #source: Iterator<readonly SQLOutputValue[]>
  readonly #toLine: ReturnType<typeof makeToLine>
  readonly #onBytes: (bytes: Uint8Array) => void
  #next: IteratorResult<readonly SQLOutputValue[]>

  constructor(table: SourceTable, onBytes: (bytes: Uint8Array) => void) {
    this.#source = table.rows()[Symbol.iterator]()
    this.#toLine = makeToLine(table.columns, (row) => nameRow(table, row))
    this.#onBytes = onBytes
    this.#next = this.#source.next()
  }

  hasMore(): boolean {
    return this.#next.done !== true
  }

  /** Chunks of one statement. */
  *nextBatch(): Generator<Uint8Array> {
    let lines = ''
    for (let count = 0; count < rowsAtOnce && this.#next.done !== true; count += 1) {
      lines += this.#toLine(this.#next.value)
      this.rows += 1
      this.#next = this.#source.next()
      if (lines.length < chunkLength) continue
      yield this.#encode(lines)
      lines = ''
    }
    if (lines !== '') yield this.#encode(lines)
  }

  close(): void {
    this.#source.return?.()
  }

  #encode(lines: string): Buffer {
    const bytes = Buffer.from(lines)
    this.#onBytes(bytes)
    return bytes
  }
}

/** Names the row by its primary key, for an operator who looks for it. */
function nameRow(table: SourceTable, row: readonly SQLOutputValue[]): string {
  const parts = table.keyColumns.map((name) => {
    const value = row[table.columns.findIndex((column) => column.name === name)]
    const text = value instanceof Uint8Array ? `x'${Buffer.from(value).toString('hex')}'` : value
    return `${name} = ${String(text).slice(0, 100)}`
  })
  return `the row ${parts.join(', ')} of the table ${table.name}`
}
