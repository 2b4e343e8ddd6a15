/**
 * Numbers of a page that was parsed as usual, turned into their source text where somebody asks for them (reading R24).
 * Tokens are found in the text and proven against the parsed rows one by one; on any doubt nothing is changed, and the
 * caller reads the page again with a slower parser. Pages that nobody looks into cost nothing more than their parse.
 */

type MutableRow = Record<string, unknown>

/**
 * Replaces the numbers under these keys of the rows by their source text, in place.
 * @param text what the rows were parsed from, with JSON.parse.
 * @param rows the objects of the one list in it that has these keys, all of them and in their order.
 * @param keys of lower-case letters alone.
 * @returns false, with nothing changed, when tokens and rows do not pair: a key that is spelled with escapes, occurs twice
 * in one row or somewhere else in the text.
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

/** RFC 8259 §7: a letter from `a` to `z` that is spelled as an escape, as a key might be. */
const escapedLetter = /\\u00[67]/

/** The source text per row, null where the row has no number; null altogether when they do not pair. */
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

/** Where the value of the next key of this name begins, -1 when there is none. */
function findValue(text: string, name: string, from: number): number {
  for (let at = text.indexOf(name, from); at !== -1; at = text.indexOf(name, at + 1)) {
    // Behind a backslash the quote is a character of some other text.
    if (text.charCodeAt(at - 1) === backslash) continue
    const colonAt = skipBlanks(text, at + name.length)
    // Without a colon it is a value, not a key.
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

/** The text is known to be JSON, so what looks like a number is one: digits, sign, point and exponent. */
function endOfNumber(text: string, from: number): number {
  let at = from
  for (;;) {
    const code = text.charCodeAt(at)
    const isPart = (code >= 48 && code <= 57) || code === 43 || code === 45 || code === 46
    if (!isPart && code !== 69 && code !== 101) return at
    at += 1
  }
}
