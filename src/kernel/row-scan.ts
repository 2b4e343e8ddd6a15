/**
 * Finds the rows of a JSON page, and some of their texts and numbers, without building a value: most rows of a page are only looked
 * at, and building them costs more than half of reading a page. The grammar (RFC 8259) is checked in full. Where
 * anything is unusual the scan gives up, and the caller uses JSON.parse, whose judgement is then the only one.
 *
 * Rows of a page resemble each other. Each member of a row is compared with the member that stood at the same place in
 * a row before, and a large object in it with one that began alike: what is the same was checked there.
 */
import { isUtf8 } from 'node:buffer'
import {
  closeList,
  closeObject,
  comma,
  isName,
  isNumber,
  type JsonBytes,
  openList,
  openObject,
  quote,
  skipBlanks,
  skipKey,
  skipPlain,
  skipText,
  skipValue,
  toFirstByte,
} from './json-bytes.ts'

/** Where the rows of a page and some of their fields are, in bytes of the body. */
export interface RowScan {
  /** The number of rows, all of them objects. */
  readonly length: number
  /** For each row: where it begins, and where it ends (exclusive). */
  readonly bounds: readonly number[]
  /**
   * For each row and field: where its text begins and ends, without quotes. A text that a row before had too has the place
   * there. An end of 0 means that only JSON.parse of the row can say what the field is: it is absent, no text, occurs
   * twice or contains an escape. For a number: where its digits begin and end; 0, if the field is one nevertheless, where it
   * cannot be told.
   */
  readonly texts: readonly number[]
  /** What stands around the rows: the parsed page with an empty list in their place. */
  readonly envelope: unknown
}

/** Rows with more different keys are read without comparing. */
const maxSlots = 64

/** A part of the body that was checked; all numbers count bytes. */
interface Part {
  readonly at: number
  readonly size: number
}

/** Objects are remembered under keys that have such large ones: the security of a trade is on many rows. */
const largeBytes = 256
const maxObjects = 256
/** An object is looked up by that many of its first bytes, which have its id where it has one. */
const hashedBytes = 32

/** A key of the rows, as it was last seen. */
interface Slot extends Part {
  /** Where the member began. */
  at: number
  /** From there to its value. */
  readonly value: number
  /** From there to the end of its value, or of its key where the value has escapes. */
  size: number
  /** Where its text begins, in this row or in one before with the same text. */
  text: number
  /** The index of the field; -1 for a key that nobody asked for. */
  readonly field: number
  /** Objects that were its value, by the hash of their first bytes; null before a large one. */
  objects: Map<number, Part> | null
  /** What came after it last, and what came before that. */
  next: Slot | null
  other: Slot | null
}

const makeSlot = (value: number, field: number): Slot => ({
  at: 0,
  value,
  size: value,
  text: 0,
  field,
  objects: null,
  next: null,
  other: null,
})

interface Scanner extends JsonBytes {
  readonly fields: readonly Uint8Array[]
  /** The first field that is a number. */
  readonly firstNumber: number
  /** Stands before the first member of a row. */
  readonly start: Slot
  readonly slots: Slot[]
  /** Of the member before; null: of none. */
  slot: Slot | null
  /** How many bytes of the member are those of its slot. */
  same: number
  /** The row has something that only JSON.parse can judge. */
  isOdd: boolean
  length: number
  readonly bounds: number[]
  readonly texts: number[]
}

/**
 * Makes a scan for pages that are an object with rows under `list`; null for a page that must be parsed. The fields of the
 * scan are `texts` and, after them, `numbers`. All names are ASCII.
 */
export function makeRowScanner(
  list: string,
  texts: readonly string[],
  numbers: readonly string[] = [],
): (body: Uint8Array) => RowScan | null {
  const name = new Uint8Array(Buffer.from(list))
  const fields = [...texts, ...numbers].map((field) => new Uint8Array(Buffer.from(field)))
  return (body) => {
    if (!isUtf8(body)) return null
    const start = makeSlot(0, -1)
    const scanner: Scanner = {
      bytes: body,
      words: new DataView(body.buffer, body.byteOffset, body.byteLength),
      fields,
      firstNumber: texts.length,
      start,
      slots: [],
      slot: start,
      same: 0,
      isOdd: false,
      length: 0,
      bounds: [],
      texts: [],
    }
    return scanPage(scanner, name)
  }
}

function scanPage(scanner: Scanner, name: Uint8Array): RowScan | null {
  const { bytes } = scanner
  let at = skipBlanks(bytes, 0)
  if (bytes[at] !== openObject) return null
  let [before, after] = [-1, -1]
  do {
    const keyAt = skipBlanks(bytes, at + 1)
    const colonAt = skipKey(scanner, keyAt)
    if (colonAt < 0) return null
    // An escaped key could spell the name of the list.
    const keyEnd = skipPlain(scanner, keyAt + 1)
    if (bytes[keyEnd] !== quote) return null
    at = skipBlanks(bytes, colonAt + 1)
    if (isName(bytes, keyAt + 1, keyEnd, name)) {
      if (before >= 0) return null
      before = at
      at = scanList(scanner, at)
      after = at
    } else at = skipValue(scanner, at, 0)
    if (at < 0) return null
    at = skipBlanks(bytes, at)
  } while (bytes[at] === comma)
  if (bytes[at] !== closeObject || before < 0) return null
  if (skipBlanks(bytes, at + 1) !== bytes.length) return null
  const { length, bounds, texts } = scanner
  const around = [bytes.subarray(0, before), Buffer.from('[]'), bytes.subarray(after)]
  return { length, bounds, texts, envelope: JSON.parse(Buffer.concat(around).toString()) }
}

/** As every function below with a place: returns where the part ends, or -1 when it must be left to JSON.parse. */
function scanList(scanner: Scanner, from: number): number {
  const { bytes } = scanner
  if (bytes[from] !== openList) return -1
  let at = skipBlanks(bytes, from + 1)
  if (bytes[at] === closeList) return at + 1
  for (;;) {
    if (bytes[at] !== openObject) return -1
    at = scanRow(scanner, at)
    if (at < 0) return -1
    at = skipBlanks(bytes, at)
    if (bytes[at] === closeList) return at + 1
    if (bytes[at] !== comma) return -1
    at = skipBlanks(bytes, at + 1)
  }
}

function scanRow(scanner: Scanner, from: number): number {
  const { bytes, fields } = scanner
  const { texts, bounds } = scanner
  const first = texts.length
  for (let field = 0; field < fields.length; field += 1) texts.push(0, 0)
  scanner.slot = scanner.start
  scanner.isOdd = false
  let at = skipBlanks(bytes, from + 1)
  while (bytes[at] !== closeObject) {
    at = scanMember(scanner, at, first)
    if (at < 0) return -1
    if (bytes[at] !== comma) at = skipBlanks(bytes, at)
    if (bytes[at] === comma) {
      at += 1
      if (bytes[at] !== quote) at = skipBlanks(bytes, at)
      // No member after a comma: JSON.parse refuses it.
      if (bytes[at] !== quote) return -1
    } else if (bytes[at] !== closeObject) return -1
  }
  if (scanner.isOdd) texts.fill(0, first)
  bounds.push(from, at + 1)
  scanner.length += 1
  return at + 1
}

/** One key and its value. `first`: where the places of this row's fields begin. */
function scanMember(scanner: Scanner, at: number, first: number): number {
  const { bytes, texts, firstNumber } = scanner
  const slot = findSlot(scanner, at)
  scanner.slot = slot
  if (slot === null) {
    // A key with escapes, which may be a field's, or one of very many.
    scanner.isOdd = true
    const colonAt = skipKey(scanner, at)
    return colonAt < 0 ? -1 : skipValue(scanner, skipBlanks(bytes, colonAt + 1), 0)
  }
  const { value, field } = slot
  const isText = bytes[at + value] === quote
  const end = isText ? endOfText(scanner, slot, at) : endOfOther(scanner, slot, at)
  if (end < 0) return -1
  slot.at = at
  const place = first + field * 2
  if (field >= firstNumber) {
    // Of several values JSON.parse takes the last one.
    texts[place] = isNumber(bytes[at + value]) ? at + value : 0
    texts[place + 1] = texts[place] === 0 ? 0 : end
  } else if (field >= 0) {
    if (!isText || slot.size === value || texts[place + 1] !== 0) scanner.isOdd = true
    texts[place] = slot.text
    texts[place + 1] = slot.text + slot.size - value - 2
  }
  return end
}

/** The slot of the key at this place; null for one that has none. Sets how much of its member is the same. */
function findSlot(scanner: Scanner, at: number): Slot | null {
  const { slot: before } = scanner
  if (before !== null) {
    const { next, other } = before
    if (next !== null && isSlot(scanner, next, at)) return next
    if (other !== null && isSlot(scanner, other, at)) return other
  }
  return learnKey(scanner, at)
}

function isSlot(scanner: Scanner, slot: Slot, at: number): boolean {
  scanner.same = countSame(scanner, slot, at)
  return scanner.same >= slot.value
}

/** Where the text of this member ends; its size is that of the key where it has escapes. */
function endOfText(scanner: Scanner, slot: Slot, at: number): number {
  const { bytes, same } = scanner
  const { value, size } = slot
  if (same === size && size > value) return at + size
  slot.text = at + value + 1
  const stop = skipPlain(scanner, at + Math.max(same, value + 1))
  if (bytes[stop] === quote) {
    slot.size = stop + 1 - at
    return stop + 1
  }
  slot.size = value
  return skipText(scanner, stop)
}

/** Where a number, a literal, a list or an object ends. */
function endOfOther(scanner: Scanner, slot: Slot, at: number): number {
  const { bytes, same } = scanner
  const { value, size } = slot
  // A number could go on after what is the same.
  const next = bytes[at + size]
  const isSame = same === size && size > value && (next === comma || next === closeObject)
  const end = isSame ? at + size : endOfChanged(scanner, slot, at + value)
  slot.size = end - at
  return end
}

/** Where a value ends that is not that of the row before. */
function endOfChanged(scanner: Scanner, slot: Slot, at: number): number {
  const { objects } = slot
  if (scanner.bytes[at] !== openObject) return skipValue(scanner, at, 0)
  const hash = objects === null ? 0 : hashBytes(scanner, at)
  const known = objects?.get(hash)
  if (known !== undefined && countSame(scanner, known, at) === known.size) return at + known.size
  const end = skipValue(scanner, at, 0)
  if (end - at >= largeBytes) slot.objects ??= new Map()
  if (end > at && (objects?.size ?? maxObjects) < maxObjects)
    objects?.set(hash, { at, size: end - at })
  return end
}

function hashBytes({ bytes, words }: Scanner, from: number): number {
  let hash = 0
  const end = Math.min(from + hashedBytes, bytes.length - 3)
  for (let at = from; at < end; at += 4) {
    hash = Math.imul(hash ^ words.getInt32(at, true), 0x01000193)
    hash ^= hash >>> 15
  }
  return hash
}

/** How many bytes from here on are the same as those of the part. */
function countSame({ bytes, words }: Scanner, { at: known, size }: Part, at: number): number {
  const last = Math.min(size, bytes.length - at) - 4
  let same = 0
  while (same <= last) {
    const differing = words.getInt32(known + same, true) ^ words.getInt32(at + same, true)
    if (differing !== 0) return same + toFirstByte(differing)
    same += 4
  }
  while (same < size && bytes[known + same] === bytes[at + same]) same += 1
  return same
}

function learnKey(scanner: Scanner, at: number): Slot | null {
  const { bytes, fields, slots, slot: before } = scanner
  const colonAt = skipKey(scanner, at)
  const end = skipPlain(scanner, at + 1)
  if (colonAt < 0 || bytes[end] !== quote) return null
  const value = skipBlanks(bytes, colonAt + 1) - at
  let slot = slots.find((one) => one.value === value && countSame(scanner, one, at) >= value)
  if (slot === undefined) {
    if (slots.length === maxSlots) return null
    slot = makeSlot(
      value,
      fields.findIndex((name) => isName(bytes, at + 1, end, name)),
    )
    slot.at = at
    slots.push(slot)
  }
  if (before !== null) {
    before.other = before.next
    before.next = slot
  }
  scanner.same = countSame(scanner, slot, at)
  return slot
}
