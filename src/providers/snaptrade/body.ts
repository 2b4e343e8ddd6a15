/** Parses bytes to JSON values. An unreadable body is `malformed`; no message quotes it: it is private. */
import { malformed } from './failures.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** The text of a body; throws `malformed` for bytes that are not UTF-8. */
export function decode(body: Uint8Array): string {
  try {
    return utf8.decode(body)
  } catch {
    throw malformed('the body is not UTF-8')
  }
}

/** Parses with the given parser; throws `malformed` for text that is not JSON. */
export function parseJson(text: string, parse: (text: string) => unknown = JSON.parse): unknown {
  try {
    return parse(text)
  } catch (error) {
    // The engine's own message would quote the text around the error.
    if (error instanceof SyntaxError) throw malformed('the body is not JSON')
    throw error
  }
}
