/**
 * An authenticator without a browser, for request tests: it makes passkeys and signs challenges as WebAuthn
 * says (§6), and it lies where a test asks it to.
 */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

/** What a page hands to the browser. */
export interface AskedPublicKey {
  readonly challenge: string
  readonly rpId?: string
  readonly rp?: { readonly id: string }
  readonly user?: { readonly id: string }
  readonly allowCredentials?: readonly { readonly id: string }[]
}

/** What the answer says otherwise than it should. */
export interface Lies {
  readonly origin?: string
  readonly challenge?: string
  readonly type?: string
  readonly rpId?: string
  readonly isVerified?: boolean
  readonly isPresent?: boolean
  readonly signCount?: number
  /** Base64url; null: none is given. */
  readonly userHandle?: string | null
  /** The id of another credential. */
  readonly id?: string
  readonly isForged?: boolean
}

export interface SoftPasskey {
  readonly id: string
  /** The JSON of the form field `credential` for a new passkey. */
  readonly attestation: string
  /** The JSON of the form field `credential` for a challenge. */
  answer(asked: AskedPublicKey, lies?: Lies): string
}

const encode = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url')
const sha256 = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest()

/** Makes a passkey for this request of a page. `counts`: its count grows with each use; else it is 0. */
export function makeSoftPasskey(
  asked: AskedPublicKey,
  origin: string,
  { counts = false, ...lies }: Lies & { readonly counts?: boolean } = {},
): SoftPasskey {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const rawId = randomBytes(32)
  const id = encode(rawId)
  const rpId = asked.rp?.id ?? ''
  const userHandle = asked.user?.id ?? ''
  let used = 0
  const nextCount = () => {
    used += counts ? 1 : 0
    return used
  }
  const data = Buffer.concat([
    authenticatorData(lies.rpId ?? rpId, { ...lies, signCount: nextCount(), hasKey: true }),
    Buffer.alloc(16),
    Buffer.from([0, rawId.length]),
    rawId,
    coseKey(publicKey),
  ])
  return {
    id,
    attestation: JSON.stringify({
      id,
      response: {
        clientDataJSON: clientData('webauthn.create', asked, { origin, ...lies }),
        attestationObject: encode(attestationObject(data)),
        transports: ['internal'],
      },
    }),
    answer(request, given = {}) {
      const signCount = given.signCount ?? nextCount()
      const bytes = authenticatorData(given.rpId ?? request.rpId ?? '', { ...given, signCount })
      const client = clientData('webauthn.get', request, { origin, ...given })
      const signed = Buffer.concat([bytes, sha256(Buffer.from(client, 'base64url'))])
      const key = given.isForged === true ? otherKey() : privateKey
      const handle = given.userHandle === undefined ? userHandle : given.userHandle
      return JSON.stringify({
        id: given.id ?? id,
        response: {
          clientDataJSON: client,
          authenticatorData: encode(bytes),
          signature: encode(sign('sha256', signed, key)),
          ...(handle === null ? {} : { userHandle: handle }),
        },
      })
    },
  }
}

const otherKey = () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey

function clientData(type: string, asked: AskedPublicKey, lies: Lies & { origin: string }): string {
  const { origin, challenge = asked.challenge } = lies
  const text = JSON.stringify({ type: lies.type ?? type, challenge, origin, crossOrigin: false })
  return encode(Buffer.from(text))
}

/** WebAuthn §6.1: the hash of the name, the flags, the count. */
function authenticatorData(
  rpId: string,
  given: Lies & { readonly signCount: number; readonly hasKey?: boolean },
): Buffer {
  const { isPresent = true, isVerified = true, hasKey = false, signCount } = given
  const flags = (isPresent ? 1 : 0) | (isVerified ? 4 : 0) | (hasKey ? 64 : 0)
  const count = Buffer.alloc(4)
  count.writeUInt32BE(signCount)
  return Buffer.concat([sha256(rpId), Buffer.from([flags]), count])
}

/** A map of CBOR (RFC 8949): kty 2, alg -7, crv 1, x and y. */
function coseKey(key: KeyObject): Buffer {
  const { x = '', y = '' } = key.export({ format: 'jwk' })
  const coordinate = (label: number, text: string) =>
    Buffer.concat([Buffer.from([label, 0x58, 32]), Buffer.from(text, 'base64url')])
  const head = Buffer.from([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01])
  return Buffer.concat([head, coordinate(0x21, x), coordinate(0x22, y)])
}

/** `{fmt: "none", attStmt: {}, authData}` as CBOR. */
function attestationObject(data: Buffer): Buffer {
  const text = (word: string) => Buffer.from([0x60 + word.length, ...Buffer.from(word)])
  return Buffer.concat([
    Buffer.from([0xa3]),
    ...[text('fmt'), text('none'), text('attStmt'), Buffer.from([0xa0]), text('authData')],
    Buffer.from([0x58, data.length]),
    data,
  ])
}
