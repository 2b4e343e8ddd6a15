/**
 * JSON whose numbers keep their source text. A float would silently change 12345678901234567890.12 (reading
 * R24), so a number is read as text or not at all.
 */

/** The source text of one JSON number token. */
export class NumberText {
  readonly source: string
  constructor(source: string) {
    this.source = source
  }
}

/**
 * Parses strictly; every number becomes a NumberText. It costs about five times as much as JSON.parse: use it
 * for small bodies, and as the fallback where the parser of `makeNumberQuoter` does not apply.
 * @throws SyntaxError when the text is not JSON.
 */
export function parseExactJson(text: string): unknown {
  return JSON.parse(text, keepSource)
}

// The compiler's signature does not have the third argument yet (the source text access of ECMAScript 2025).
const keepSource = (_key: string, value: unknown, context?: { source?: string }): unknown => {
  if (typeof value !== 'number') return value
  if (context?.source === undefined)
    throw new Error('this runtime does not give the source text of JSON numbers')
  return new NumberText(context.source)
}

/** As JSON.parse, but an integer that a float would change becomes a bigint. @throws SyntaxError */
export function parseWithBigIntegers(text: string): unknown {
  return JSON.parse(text, keepDigits)
}

const keepDigits = (_key: string, value: unknown, context?: { source?: string }): unknown => {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value
  const source = context?.source ?? ''
  return /^-?\d+$/.test(source) ? BigInt(source) : value
}

/**
 * Makes a parser for large pages: numbers under the listed keys become strings of their source text,
 * everything else is parsed as usual. Inside a JSON string a quote is always escaped, so `"key":` without a
 * backslash before it is always a real key. The number under a key spelled with \u escapes stays a number; a
 * caller that finds one must use `parseExactJson`.
 */
export function makeNumberQuoter(keys: readonly string[]): (text: string) => unknown {
  const names = keys.map((key) => key.replace(/[^A-Za-z0-9_-]/g, '')).join('|')
  const pattern = new RegExp(
    `(?<!\\\\)("(?:${names})"\\s*:\\s*)(-?(?:0|[1-9]\\d*)(?:\\.\\d+)?(?:[eE][+-]?\\d+)?)(?=\\s*[,}])`,
    'g',
  )
  return (text) => JSON.parse(text.replace(pattern, '$1"$2"'))
}

/**
 * An integer that `JSON.stringify` writes with every digit, beyond 2^53 too (ECMAScript 2025, JSON.rawJSON).
 */
export function toExactInteger(value: bigint): unknown {
  return withRawText.rawJSON(value.toString())
}

// The compiler does not know the method yet.
const withRawText = JSON as typeof JSON & { rawJSON(text: string): unknown }

/** True for a JSON object: not null, not a list, not the source text of a number. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false
  return !Array.isArray(value) && !(value instanceof NumberText)
}

/** A field of a value that may be anything; undefined when there is none. */
export function readField(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
}
