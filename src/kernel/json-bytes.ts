/**
 * The grammar of JSON over UTF-8 bytes (RFC 8259), without building a value. Each function takes the place where a part
 * begins and returns the place after it, or -1 where the part is not JSON or is left to JSON.parse.
 */

export interface JsonBytes {
  readonly bytes: Uint8Array
  /** The same bytes, four at a time. */
  readonly words: DataView
}

/** Values that are nested deeper are left to JSON.parse. */
const maxDepth = 32

export const quote = 34
export const comma = 44
const minus = 45
const zero = 48
const colon = 58
export const openList = 91
const backslash = 92
export const closeList = 93
export const openObject = 123
export const closeObject = 125

/** The place of the first byte with a bit that is set, in a word whose first byte is the lowest. */
export const toFirstByte = (word: number): number => (31 - Math.clz32(word & -word)) >> 3

/** Whether the bytes of this part are those of the name. */
export function isName(bytes: Uint8Array, from: number, to: number, name: Uint8Array): boolean {
  if (to - from !== name.length) return false
  for (let index = 0; index < name.length; index += 1) {
    if (bytes[from + index] !== name[index]) return false
  }
  return true
}

/** The first place that is no white space (RFC 8259 §2: blank, line feed, carriage return, tab). */
export function skipBlanks(bytes: Uint8Array, from: number): number {
  let at = from
  for (;;) {
    const byte = bytes[at]
    if (byte !== 32 && byte !== 10 && byte !== 13 && byte !== 9) return at
    at += 1
  }
}

/** Returns the place of the colon after a key. */
export function skipKey(json: JsonBytes, from: number): number {
  const { bytes } = json
  if (bytes[from] !== quote) return -1
  const end = skipText(json, skipPlain(json, from + 1))
  const at = end < 0 ? -1 : skipBlanks(bytes, end)
  return bytes[at] === colon ? at : -1
}

/** The first place with a quote, a backslash or a control character, or the end of the body. */
export function skipPlain({ bytes, words }: JsonBytes, from: number): number {
  let at = from
  const last = bytes.length - 4
  while (at <= last) {
    const word = words.getInt32(at, true)
    const quotes = word ^ 0x22222222
    const slashes = word ^ 0x5c5c5c5c
    // The lowest bit that is set belongs to the first byte that is zero in `quotes` or `slashes`, or below 32 in `word`.
    const found =
      (((quotes - 0x01010101) & ~quotes) |
        ((slashes - 0x01010101) & ~slashes) |
        ((word - 0x20202020) & ~word)) &
      0x80808080
    if (found !== 0) return at + toFirstByte(found)
    at += 4
  }
  for (;;) {
    const byte = bytes[at]
    if (byte === undefined || byte === quote || byte === backslash || byte < 32) return at
    at += 1
  }
}

/** Continues a text where `skipPlain` stopped; returns the place after its quote. */
export function skipText(json: JsonBytes, from: number): number {
  const { bytes } = json
  let at = from
  for (;;) {
    const byte = bytes[at]
    if (byte === quote) return at + 1
    if (byte !== backslash) return -1
    const escaped = bytes[at + 1] ?? 0
    if (escaped === 117) {
      for (let digit = at + 2; digit < at + 6; digit += 1) {
        if (!hexDigits.has(bytes[digit] ?? 0)) return -1
      }
      at += 6
    } else if (escapes.has(escaped)) at += 2
    else return -1
    at = skipPlain(json, at)
  }
}

const escapes: ReadonlySet<number> = new Set(Buffer.from('"\\/bfnrt'))
const hexDigits: ReadonlySet<number> = new Set(Buffer.from('0123456789abcdefABCDEF'))

/** One value of any kind; `depth`: how many lists and objects it is in. */
export function skipValue(json: JsonBytes, from: number, depth: number): number {
  const { bytes } = json
  switch (bytes[from]) {
    case quote:
      return skipText(json, skipPlain(json, from + 1))
    case openObject:
    case openList:
      return depth === maxDepth ? -1 : skipMembers(json, from, depth + 1)
    case 116:
      return skipName(bytes, from, literals.true)
    case 102:
      return skipName(bytes, from, literals.false)
    case 110:
      return skipName(bytes, from, literals.null)
    default:
      return skipNumber(bytes, from)
  }
}

function skipMembers(json: JsonBytes, from: number, depth: number): number {
  const { bytes } = json
  const isObject = bytes[from] === openObject
  const end = isObject ? closeObject : closeList
  let at = skipBlanks(bytes, from + 1)
  if (bytes[at] === end) return at + 1
  for (;;) {
    if (isObject) {
      const colonAt = skipKey(json, at)
      if (colonAt < 0) return -1
      at = skipBlanks(bytes, colonAt + 1)
    }
    at = skipValue(json, at, depth)
    if (at < 0) return -1
    at = skipBlanks(bytes, at)
    if (bytes[at] === end) return at + 1
    if (bytes[at] !== comma) return -1
    at = skipBlanks(bytes, at + 1)
  }
}

const literals = {
  true: new Uint8Array(Buffer.from('true')),
  false: new Uint8Array(Buffer.from('false')),
  null: new Uint8Array(Buffer.from('null')),
}

function skipName(bytes: Uint8Array, from: number, name: Uint8Array): number {
  return isName(bytes, from, from + name.length, name) ? from + name.length : -1
}

/** Whether a value that begins with this byte is a number. */
export const isNumber = (byte: number | undefined): boolean =>
  byte === minus || (byte !== undefined && byte >= zero && byte <= zero + 9)

/** RFC 8259 §6. */
function skipNumber(bytes: Uint8Array, from: number): number {
  const begin = bytes[from] === minus ? from + 1 : from
  let at = bytes[begin] === zero ? begin + 1 : skipDigits(bytes, begin)
  if (at === begin) return -1
  if (bytes[at] === 46) {
    const end = skipDigits(bytes, at + 1)
    if (end === at + 1) return -1
    at = end
  }
  if (bytes[at] === 101 || bytes[at] === 69) {
    const digits = bytes[at + 1] === 43 || bytes[at + 1] === minus ? at + 2 : at + 1
    at = skipDigits(bytes, digits)
    if (at === digits) return -1
  }
  return at
}

function skipDigits(bytes: Uint8Array, from: number): number {
  let at = from
  for (;;) {
    const byte = bytes[at] ?? 0
    if (byte < 48 || byte > 57) return at
    at += 1
  }
}
