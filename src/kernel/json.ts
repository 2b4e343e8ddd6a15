/**
 * JSON whose numbers keep their source text. A float would turn 12345678901234567890.12 into something else before
 * anybody could object (reading R24), so a number is read as text or not at all.
 */

/** The source text of one JSON number token, exactly as it was sent. */
export class NumberText {
  readonly source: string
  constructor(source: string) {
    this.source = source
  }
}

/**
 * Parses strictly; every number becomes a NumberText. About five times the cost of JSON.parse: for small bodies and as
 * the safe way when `parseQuotingNumbers` does not apply.
 * @throws SyntaxError when the text is no JSON.
 */
export function parseExactJson(text: string): unknown {
  return JSON.parse(text, keepSource)
}

// The third argument (the source text access of ECMAScript 2025) is not in the compiler's signature yet.
const keepSource = (_key: string, value: unknown, context?: { source?: string }): unknown => {
  if (typeof value !== 'number') return value
  if (context?.source === undefined)
    throw new Error('this runtime does not tell the source of JSON numbers')
  return new NumberText(context.source)
}

/**
 * A parser for large pages: the numbers of the listed keys become strings of their source text, everything else is
 * parsed as usual. Inside a JSON string a quote is always escaped, so `"key":` with no backslash before it can only be a
 * real key; a key spelled with \u escapes stays a number, which callers must treat as a reason to use `parseExactJson`.
 */
export function makeNumberQuoter(keys: readonly string[]): (text: string) => unknown {
  const names = keys.map((key) => key.replace(/[^A-Za-z0-9_]/g, '')).join('|')
  const pattern = new RegExp(
    `(?<!\\\\)("(?:${names})"\\s*:\\s*)(-?(?:0|[1-9]\\d*)(?:\\.\\d+)?(?:[eE][+-]?\\d+)?)(?=\\s*[,}])`,
    'g',
  )
  return (text) => JSON.parse(text.replace(pattern, '$1"$2"'))
}
