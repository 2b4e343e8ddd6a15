/**
 * The body of a provider's refusal: what it says as JSON, and its words as they may be shown. Which fields it
 * has, and what secrets look like, is known to each adapter.
 */

/** Longer bodies are web pages of an intermediary, not the provider's message. */
const maxErrorBytes = 65_536
const maxDetailLength = 300

/** The fields of a JSON object; none for any other body, where the status has to be enough. */
export function readRefusalBody(body: Uint8Array): Readonly<Record<string, unknown>> {
  if (body.length === 0 || body.length > maxErrorBytes) return {}
  try {
    const parsed: unknown = JSON.parse(Buffer.from(body).toString('utf8'))
    return typeof parsed === 'object' ? { ...parsed } : {}
  } catch {
    return {}
  }
}

/** One line without control characters, at most 300 characters long. Secrets are removed before. */
export function toDetail(text: string): string {
  return text
    .replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .trim()
    .slice(0, maxDetailLength)
    .toWellFormed()
}
