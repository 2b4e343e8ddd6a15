/**
 * Signatures of events by Standard Webhooks (reading R31; https://www.standardwebhooks.com): HMAC-SHA256 over
 * `{id}.{timestamp}.{body}`. While a secret is rotated the event has one signature per secret. Pure, except
 * for the random bytes of a new secret.
 */

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { EventId } from '#kernel/ids.ts'
import type { Millis } from '#kernel/time.ts'
import type { EndpointSecrets } from '#store/ports/endpoints.ts'

const secretBytes = 32
const prefix = 'whsec_'
/** Receivers refuse a timestamp that is further from their current time. */
export const toleranceSeconds = 300

/** A new secret: `whsec_` and 32 random bytes in base64. */
export function mintSecret(): string {
  return prefix + randomBytes(secretBytes).toString('base64')
}

/** The secrets that sign at this moment, the current one first. */
export function secretsAt({ current, previous }: EndpointSecrets, now: Millis): readonly string[] {
  return previous !== null && now < previous.until ? [current, previous.secret] : [current]
}

export interface Signed {
  readonly id: EventId
  /** Epoch seconds of the attempt. */
  readonly timestamp: number
  readonly body: Uint8Array
}

/** The three headers of one attempt, a signature of each secret in the order of `secrets`. */
export function signatureHeaders(
  signed: Signed,
  secrets: readonly string[],
): Readonly<Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>> {
  const { id, timestamp } = signed
  const signatures = secrets.map((secret) => `v1,${sign(signed, secret).toString('base64')}`)
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.join(' '),
  }
}

function sign(
  { id, timestamp, body }: { id: string; timestamp: number; body: Uint8Array },
  secret: string,
) {
  if (!secret.startsWith(prefix)) throw new Error('a webhook secret does not begin with whsec_')
  const key = Buffer.from(secret.slice(prefix.length), 'base64')
  return createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest()
}

export interface Received {
  /** Header names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body: Uint8Array
}

/** What is wrong with a message that claims to come from us; null: it is genuine and recent. */
export function findForgery(
  { headers, body }: Received,
  secret: string,
  nowSeconds: number,
): string | null {
  const read = (name: string) => (typeof headers[name] === 'string' ? headers[name] : '')
  const [id, time, list] = [
    read('webhook-id'),
    read('webhook-timestamp'),
    read('webhook-signature'),
  ]
  if (id === '' || time === '' || list === '') return 'the headers of the signature are missing'
  const timestamp = /^\d{1,12}$/.test(time) ? Number(time) : Number.NaN
  if (!(Math.abs(nowSeconds - timestamp) <= toleranceSeconds))
    return 'the timestamp is too old or too new'
  const wanted = sign({ id, timestamp, body }, secret)
  const isGood = list.split(' ').some((one) => {
    const given = Buffer.from(one.startsWith('v1,') ? one.slice(3) : '', 'base64')
    return given.length === wanted.length && timingSafeEqual(given, wanted)
  })
  return isGood ? null : 'no signature matches the secret'
}
