/**
 * The canonical form of a webhook's body: JSON as Python's `json.dumps(body, separators=(",", ":"),
 * sort_keys=True)` writes it (docs/providers/snaptrade.md, Webhooks). Numbers keep their source text.
 */
import { NumberText, parseExactJson } from '#kernel/json.ts'

/**
 * Deeper bodies are not SnapTrade's; parsing them could exhaust the stack before their signature is known.
 */
const maxDepth = 32

/** Null when the text is not JSON, or too deeply nested. */
export function toCanonicalJson(text: string): string | null {
  if (isTooDeep(text)) return null
  try {
    return write(parseExactJson(text))
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

function isTooDeep(text: string): boolean {
  let depth = 0
  let isInString = false
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at]
    if (isInString) {
      if (sign === '\\') at += 1
      else if (sign === '"') isInString = false
    } else if (sign === '"') isInString = true
    else if (sign === '[' || sign === '{') depth += 1
    else if (sign === ']' || sign === '}') depth -= 1
    if (depth > maxDepth) return true
  }
  return false
}

function write(value: unknown): string {
  if (value instanceof NumberText) return value.source
  if (typeof value === 'string') return writeText(value)
  if (Array.isArray(value)) return `[${value.map(write).join(',')}]`
  if (typeof value !== 'object' || value === null) return String(value)
  const members = Object.entries(value)
    .sort(([left], [right]) => byCodePoint(left, right))
    .map(([key, member]) => `${writeText(key)}:${write(member)}`)
  return `{${members.join(',')}}`
}

/** Python escapes everything outside the printable ASCII characters, UTF-16 unit by unit. */
function writeText(text: string): string {
  return JSON.stringify(text).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** UTF-8 bytes sort as code points do; JavaScript's own order is that of UTF-16 units. */
function byCodePoint(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right))
}
