/**
 * The rows of a stream, in plain columns with a look-up by fingerprint. Thousands of objects or texts that live as
 * long as the walk would make garbage collection more expensive than all other work. A row keeps its number for the
 * walk's life; its place at the provider may change.
 */
import { releaseBytes } from '#providers/release-bytes.ts'
import type { Print } from './fingerprint.ts'

export interface RowTable {
  count: number
  /** Two numbers of 32 bits per row. */
  prints: Int32Array
  times: Float64Array
  /** The number of the row's page; `noPage` when unknown. */
  pages: Int32Array
  /** The row's place on that page; `noRow` when the page no longer has it. */
  rows: Int32Array
  /** For trades: 1 for the first of identical fills, 2, 3 … for later ones (reading R24a). */
  copies: Int32Array | null
  /** For trades with equal times: a digest of the fields that make fills identical; 0 where it was not computed. */
  keys: Float64Array | null
  /** Row number plus one, so that 0 is a free slot; twice as many slots as the table has room for rows. */
  slots: Int32Array
}

export const noPage = -1
export const noRow = -1

const firstCapacity = 64

/** Starts empty. `numbered`: for trades, whose identical fills are numbered. */
export function makeRowTable(numbered: boolean, capacity = firstCapacity): RowTable {
  return {
    count: 0,
    prints: new Int32Array(capacity * 2),
    times: new Float64Array(capacity),
    pages: new Int32Array(capacity),
    rows: new Int32Array(capacity),
    copies: numbered ? new Int32Array(capacity) : null,
    keys: numbered ? new Float64Array(capacity) : null,
    slots: new Int32Array(capacity * 2),
  }
}

/** Reserves room for that many more rows, so that a page does not grow the table repeatedly. */
export function reserveRows(table: RowTable, count: number): void {
  let capacity = table.times.length
  while (capacity < table.count + count) capacity *= 2
  if (capacity > table.times.length) grow(table, capacity)
}

/** The number of the row with this fingerprint, or -1. */
export function findRow(table: RowTable, { first, second }: Print): number {
  const { slots, prints } = table
  const mask = slots.length - 1
  for (let slot = first & mask; ; slot = (slot + 1) & mask) {
    const row = (slots[slot] ?? 0) - 1
    if (row < 0) return -1
    if (prints[row * 2] === first && prints[row * 2 + 1] === second) return row
  }
}

/** Appends a row with a new fingerprint; returns its number. */
export function addRow(
  table: RowTable,
  print: Print,
  time: number,
  place: { readonly page: number; readonly row: number },
): number {
  reserveRows(table, 1)
  const row = table.count
  table.prints[row * 2] = print.first
  table.prints[row * 2 + 1] = print.second
  table.times[row] = time
  table.pages[row] = place.page
  table.rows[row] = place.row
  if (table.copies !== null) table.copies[row] = 1
  if (table.keys !== null) table.keys[row] = 0
  table.count = row + 1
  index(table, row)
  return row
}

/** Removes the rows from this number on. */
export function truncateRows(table: RowTable, count: number): void {
  if (table.count === count) return
  table.count = count
  table.slots.fill(0)
  for (let row = 0; row < count; row += 1) index(table, row)
}

/** Copies the first rows into a new table, with unknown places. */
export function copyRows(table: RowTable, count: number): RowTable {
  let capacity = firstCapacity
  while (capacity < count) capacity *= 2
  const copy = makeRowTable(table.copies !== null, capacity)
  copy.prints.set(table.prints.subarray(0, count * 2))
  copy.times.set(table.times.subarray(0, count))
  copy.pages.fill(noPage, 0, count)
  copy.rows.fill(noRow, 0, count)
  if (table.copies !== null) copy.copies?.set(table.copies.subarray(0, count))
  if (table.keys !== null) copy.keys?.set(table.keys.subarray(0, count))
  copy.count = count
  for (let row = 0; row < count; row += 1) index(copy, row)
  return copy
}

/** Bytes held. */
export function sizeOfRows(table: RowTable): number {
  return columnsOf(table).reduce((sum, column) => sum + column.byteLength, 0)
}

/** Frees the table's memory; it must not be used afterwards. */
export function releaseRows(table: RowTable): void {
  for (const column of columnsOf(table)) releaseBytes(column)
  table.count = 0
}

function columnsOf(table: RowTable): readonly (Int32Array | Float64Array)[] {
  const { prints, times, pages, rows, copies, keys, slots } = table
  const all = [prints, times, pages, rows, copies, keys, slots]
  return all.filter((column) => column !== null)
}

function index(table: RowTable, row: number): void {
  const { slots, prints } = table
  const mask = slots.length - 1
  let slot = (prints[row * 2] ?? 0) & mask
  while (slots[slot] !== 0) slot = (slot + 1) & mask
  slots[slot] = row + 1
}

function grow(table: RowTable, capacity: number): void {
  table.prints = larger(table.prints, new Int32Array(capacity * 2))
  table.times = larger(table.times, new Float64Array(capacity))
  table.pages = larger(table.pages, new Int32Array(capacity))
  table.rows = larger(table.rows, new Int32Array(capacity))
  if (table.copies !== null) table.copies = larger(table.copies, new Int32Array(capacity))
  if (table.keys !== null) table.keys = larger(table.keys, new Float64Array(capacity))
  releaseBytes(table.slots)
  table.slots = new Int32Array(capacity * 2)
  for (let row = 0; row < table.count; row += 1) index(table, row)
}

function larger<Column extends Int32Array | Float64Array>(old: Column, fresh: Column): Column {
  fresh.set(old)
  releaseBytes(old)
  return fresh
}
