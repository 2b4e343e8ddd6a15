/**
 * From bytes to JSON values. What cannot be read is `malformed`; no message quotes the body,
 * since it holds what nobody should find in a log.
 */
import { malformed } from './failures.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** The text of a body; bytes that are no UTF-8 make it unreadable. */
export function decode(body: Uint8Array): string {
  try {
    return utf8.decode(body)
  } catch {
    throw malformed('the body is no UTF-8')
  }
}

/** Parses with whatever parser is given; text that is no JSON makes the body unreadable. */
export function parseJson(text: string, parse: (text: string) => unknown = JSON.parse): unknown {
  try {
    return parse(text)
  } catch (error) {
    // The engine's own message quotes the text around the fault.
    if (error instanceof SyntaxError) throw malformed('the body is no JSON')
    throw error
  }
}
