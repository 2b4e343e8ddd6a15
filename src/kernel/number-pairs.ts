/**
 * Replaces numbers of an already parsed page by their source text, only for rows that a caller needs (reading R24).
 * Number tokens are found in the text and checked against the parsed rows one by one. On any mismatch nothing
 * changes and the caller parses the page again with a slower parser. Pages whose numbers are not needed cost only
 * their parse.
 */

type MutableRow = Record<string, unknown>

/**
 * Replaces the numbers under these keys of the rows by their source text, in place.
 * @param text the text that JSON.parse parsed into the rows.
 * @param rows all objects of the only list in the text that has these keys, in their order.
 * @param keys in lower-case letters only.
 * @returns false, with nothing changed, when tokens and rows do not match: a key is spelled with escapes, or occurs twice
 * in one row or elsewhere in the text.
 */
export function pairNumbers(
  text: string,
  rows: readonly MutableRow[],
  keys: readonly string[],
): boolean {
  if (escapedLetter.test(text)) return false
  const tokens: (readonly (string | null)[])[] = []
  for (const key of keys) {
    const paired = pairKey(text, rows, key)
    if (paired === null) return false
    tokens.push(paired)
  }
  for (const [index, key] of keys.entries()) {
    for (const [at, row] of rows.entries()) {
      const token = tokens[index]?.[at] ?? null
      if (token !== null) row[key] = token
    }
  }
  return true
}

/** RFC 8259 §7: an escape that stands for a letter from `a` to `z`, which could spell a key. */
const escapedLetter = /\\u00[67]/

/** The source text per row, null for a row without a number; null as a whole when tokens and rows do not match. */
function pairKey(text: string, rows: readonly MutableRow[], key: string): (string | null)[] | null {
  const name = `"${key}"`
  const paired: (string | null)[] = []
  let from = 0
  for (const row of rows) {
    const value = row[key]
    if (value === undefined) {
      paired.push(null)
      continue
    }
    const at = findValue(text, name, from)
    if (at === -1) return null
    const end = endOfNumber(text, at)
    from = Math.max(end, at)
    if (typeof value !== 'number') {
      if (end !== at) return null
      paired.push(null)
      continue
    }
    const token = text.slice(at, end)
    if (end === at || Number(token) !== value) return null
    paired.push(token)
  }
  return findValue(text, name, from) === -1 ? paired : null
}

/** The index of the value after the next key of this name, or -1. */
function findValue(text: string, name: string, from: number): number {
  for (let at = text.indexOf(name, from); at !== -1; at = text.indexOf(name, at + 1)) {
    // A quote after a backslash is part of another string.
    if (text.charCodeAt(at - 1) === backslash) continue
    const colonAt = skipBlanks(text, at + name.length)
    // A quoted name without a colon after it is a value, not a key.
    if (text.charCodeAt(colonAt) === colon) return skipBlanks(text, colonAt + 1)
  }
  return -1
}

const backslash = 92
const colon = 58

/** RFC 8259 §2: blank, tab, line feed, carriage return. */
function skipBlanks(text: string, from: number): number {
  let at = from
  for (;;) {
    const code = text.charCodeAt(at)
    if (code !== 32 && code !== 9 && code !== 10 && code !== 13) return at
    at += 1
  }
}

/** The text is valid JSON, so any run of digits, sign, point and exponent is a number. */
function endOfNumber(text: string, from: number): number {
  let at = from
  for (;;) {
    const code = text.charCodeAt(at)
    const isPart = (code >= 48 && code <= 57) || code === 43 || code === 45 || code === 46
    if (!isPart && code !== 69 && code !== 101) return at
    at += 1
  }
}
