/**
 * Encryption of an event's payload and of the answers to it: under the event's own random key, which is
 * stored separately and wrapped by the store's sealer (docs/decisions/0014-event-keys.md). Each ciphertext is
 * bound to its event or attempt.
 */
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { constants, gunzip, gunzipSync, gzip, gzipSync } from 'node:zlib'
import type { DeliveryId, EventId } from '#kernel/ids.ts'
import type { NewEvent } from '../ports/events.ts'
import { SealError, type SealedSecret, type Sealer } from '../seal.ts'

const compress = promisify(gzip)
const decompress = promisify(gunzip)

/** Asking another thread takes longer than compressing, or decompressing, this many bytes. */
const maxAtOnceBytes = { compress: 8192, decompress: 65_536 }
/** Takes half as long as the default, and a tenth more bytes. */
const fast = { level: 3 }
const keyBytes = 32
const nonceBytes = 12
const tagBytes = 16
const wrapPurpose = 'event-key'
const macPurpose = 'event-body'

export type EventKey = Uint8Array

/** A new key. */
export function makeEventKey(): EventKey {
  return new Uint8Array(randomBytes(keyBytes))
}

/** The columns of a key under the current key of the store. */
export function wrapKey(sealer: Sealer, id: EventId, key: EventKey) {
  return { secret: sealer.seal(wrapPurpose, wrapName(id), key), secret_key: sealer.current }
}

/** @throws SealError when it cannot be decrypted. */
export function unwrapKey(sealer: Sealer, id: EventId, row: SealedSecret): EventKey {
  return sealer.open(wrapPurpose, wrapName(id), row.secret, row.secretKey)
}

const wrapName = (id: EventId): string => JSON.stringify(['event_keys', id])

type Named = Pick<NewEvent, 'id' | 'type'>

/** The body, compressed and encrypted; bound to the event's id and type. */
export async function sealEventBody(
  key: EventKey,
  event: Named,
  body: Uint8Array,
): Promise<Uint8Array> {
  const compressed =
    body.byteLength <= maxAtOnceBytes.compress ? gzipSync(body, fast) : await compress(body, fast)
  return encrypt(key, payloadName(event), compressed)
}

/** The body. `size`: its bytes according to the receipt, the bound of the decompression. @throws SealError */
export async function openEventBody(
  key: EventKey,
  event: Named & { readonly size: number },
  payload: Uint8Array,
): Promise<Uint8Array> {
  const compressed = decrypt(key, payloadName(event), payload)
  // In one piece of the body's size: pieces of 16 KB end in a full collection every few hundred events.
  const bound = {
    maxOutputLength: Math.max(1, event.size),
    chunkSize: Math.max(constants.Z_MIN_CHUNK, event.size + 1),
  }
  return event.size <= maxAtOnceBytes.decompress
    ? gunzipSync(compressed, bound)
    : decompress(compressed, bound)
}

const payloadName = ({ id, type }: Named): string => JSON.stringify(['payload', id, type])

/** A receiver's answer, encrypted; bound to the attempt. */
export function sealResponse(
  key: EventKey,
  attempt: AttemptName,
  response: Uint8Array,
): Uint8Array {
  return encrypt(key, responseName(attempt), response)
}

/** @throws SealError when it cannot be decrypted. */
export function openResponse(key: EventKey, attempt: AttemptName, sealed: Uint8Array): string {
  return decrypt(key, responseName(attempt), sealed).toString('utf8')
}

interface AttemptName {
  readonly deliveryId: DeliveryId
  readonly number: number
}

const responseName = ({ deliveryId, number }: AttemptName): string =>
  JSON.stringify(['response', deliveryId, number])

/**
 * The receipt's proof of what was sent: amounts are guessable, so a plain hash could be reversed by trying.
 */
export function macBody(sealer: Sealer, id: EventId, body: Uint8Array): Uint8Array {
  return createHmac('sha256', sealer.derive(macPurpose)).update(`${id}.`).update(body).digest()
}

function encrypt(key: EventKey, name: string, plaintext: Uint8Array): Uint8Array {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  cipher.setAAD(Buffer.from(name))
  return Buffer.concat([nonce, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()])
}

function decrypt(key: EventKey, name: string, sealed: Uint8Array): Buffer {
  try {
    const end = sealed.byteLength - tagBytes
    const nonce = sealed.subarray(0, nonceBytes)
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes })
    decipher.setAAD(Buffer.from(name))
    decipher.setAuthTag(sealed.subarray(end))
    return Buffer.concat([decipher.update(sealed.subarray(nonceBytes, end)), decipher.final()])
  } catch (cause) {
    throw new SealError('what belongs to an event does not open: changed, or of another', { cause })
  }
}
