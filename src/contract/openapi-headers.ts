/**
 * Response headers of the OpenAPI description (contract, Common response headers; readings R2, R5 to R9).
 * `required` means present on every response that lists the header.
 */
import { sunset } from './limits.ts'
import type { Json, JsonObject } from './openapi-schemas.ts'

const text = { type: 'string' }
const count = { type: 'integer', minimum: 0 }

const headers = {
  'X-Request-Id': {
    description: 'Id of this request; quote it when you report a problem.',
    required: true,
    schema: { type: 'string', minLength: 1 },
    example: '3f6a1c0e-5a0b-4a39-9b0a-6a5f0f6d2b11',
  },
  'X-Cache': {
    description:
      'HIT: served from the cache. MISS: computed. BYPASS: the cache was not asked or may not hold the answer.',
    required: true,
    schema: { type: 'string', enum: ['HIT', 'MISS', 'BYPASS'] },
    example: 'MISS',
  },
  'X-RateLimit-Limit': {
    description: 'Requests per window of the bucket that this request was counted in.',
    required: true,
    schema: count,
    example: 60,
  },
  'X-RateLimit-Remaining': {
    description: 'Requests left in the window.',
    required: true,
    schema: count,
    example: 59,
  },
  'X-RateLimit-Reset': {
    description: 'Epoch seconds when the bucket resets, rounded up.',
    required: true,
    schema: count,
    example: 1795144560,
  },
  'Retry-After': {
    description: 'Seconds until it makes sense to ask again.',
    required: true,
    schema: count,
    example: 30,
  },
  'WWW-Authenticate': {
    description: 'The challenge of RFC 6750.',
    required: true,
    schema: text,
    example: 'Bearer error="invalid_token"',
  },
  'X-Service-Truncated': {
    description:
      'Present when the row ceiling or the page cap ended the reading early: hasMore is true, and total is a lower bound or null. Go on with the next offset.',
    schema: { type: 'string', enum: ['true'] },
    example: 'true',
  },
  'X-Data-As-Of': {
    description:
      'When the institution last updated the oldest of the data (RFC 3339). Absent where that is not known.',
    schema: { type: 'string', format: 'date-time' },
    example: '2026-11-20T03:00:00.000Z',
  },
  Deprecation: {
    description: 'Present on calls without accountId, which are deprecated.',
    schema: { type: 'string', enum: ['true'] },
    example: 'true',
  },
  Sunset: {
    description: 'The HTTP date after which calls without accountId end.',
    schema: text,
    example: sunset,
  },
  Link: {
    description: 'Where the deprecation is explained (`rel="deprecation"`).',
    schema: text,
    example: '</doc>; rel="deprecation"',
  },
} as const satisfies Record<string, JsonObject>

export type HeaderName = keyof typeof headers

/** Present on every response of every operation. */
export const everywhere: readonly HeaderName[] = [
  'X-Request-Id',
  'X-Cache',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
]

/** Present on answers to calls that use something deprecated. */
export const deprecation: readonly HeaderName[] = ['Deprecation', 'Sunset', 'Link']

/** Component names have no hyphens: `XCache`, `RetryAfter`. */
const componentName = (name: HeaderName) => name.replaceAll('-', '')

/** Optional on a 503: it is unknown when an operator will configure a provider. */
export const retryAfterIfKnown: JsonObject = {
  'Retry-After': { $ref: '#/components/headers/RetryAfterIfKnown' },
}

/** Every header by component name. */
export function makeHeaders(): JsonObject {
  const names = Object.keys(headers) as HeaderName[]
  const entries = names.map((name): [string, Json] => [componentName(name), headers[name]])
  const ifKnown = { ...headers['Retry-After'], required: false }
  return { ...Object.fromEntries(entries), RetryAfterIfKnown: ifKnown }
}

/** The `headers` map of a response. */
export function headerReferences(names: readonly HeaderName[]): JsonObject {
  return Object.fromEntries(
    names.map((name): [string, Json] => [
      name,
      { $ref: `#/components/headers/${componentName(name)}` },
    ]),
  )
}
