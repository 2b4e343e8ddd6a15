/**
 * What the webhooks of every provider have in common: signatures compared in constant time, bodies read as
 * one JSON object. It knows no provider and no event.
 */

import { hash, timingSafeEqual } from 'node:crypto'
import { isRecord } from '#kernel/json.ts'

export type WebhookFields = Readonly<Record<string, unknown>>

/** No provider sends longer ids; they are not looked up. */
const maxTextLength = 256

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Whether the text is exactly the Base64 of these bytes, in a time that does not depend on it. */
export function isBase64Of(bytes: Uint8Array, text: string): boolean {
  const expected = Buffer.from(Buffer.from(bytes).toString('base64'))
  const given = Buffer.from(text)
  return given.length === expected.length && timingSafeEqual(given, expected)
}

/** The body as text; null when it is not UTF-8. */
export function readWebhookText(body: Uint8Array): string | null {
  try {
    return utf8.decode(body)
  } catch {
    // Every receiver refuses such a body as unreadable.
    return null
  }
}

/** The fields of the object that the text holds; null for anything else. */
export function readWebhookFields(text: string): WebhookFields | null {
  try {
    return toFields(JSON.parse(text))
  } catch {
    // The text is not JSON: every receiver refuses it as unreadable.
    return null
  }
}

/** The value as an object with fields; null for anything else. */
export function toFields(value: unknown): WebhookFields | null {
  return isRecord(value) ? { ...value } : null
}

/** A text of 1 to 256 characters, none of them NUL, which PostgreSQL refuses; null for anything else. */
export function readShortText(value: unknown): string | null {
  if (typeof value !== 'string' || value === '' || value.length > maxTextLength) return null
  return value.includes('\0') ? null : value
}

/** A short text that is equal for equal inputs only, whatever their length. */
export function digestOf(input: string | Uint8Array): string {
  return hash('sha256', input, 'base64url')
}
