/**
 * What a browser answers with a passkey, read and verified. The library that verifies is loaded with the
 * first answer. Whatever is wrong with an answer (its form, challenge, origin, signature, count) it is
 * refused alike.
 */
import { z } from 'zod'
import { lazily } from '#kernel/lazily.ts'
import type { PasskeyRow } from '#store/ports/passkeys.ts'
import type { RelyingParty } from './relying-party.ts'

const maxText = 12_000
const bytes = z
  .string()
  .regex(/^[\w-]*$/)
  .max(maxText)
/** At most 1,023 bytes (WebAuthn §4, credential ID). */
const credentialId = z.string().regex(/^[\w-]{1,1364}$/)

const Assertion = z.object({
  id: credentialId,
  response: z.object({
    clientDataJSON: bytes,
    authenticatorData: bytes,
    signature: bytes,
    userHandle: bytes.nullish(),
  }),
})
/** The signed answer to a challenge. */
export type Assertion = z.infer<typeof Assertion>

const Attestation = z.object({
  id: credentialId,
  response: z.object({
    clientDataJSON: bytes,
    attestationObject: bytes,
    transports: z
      .array(z.string().regex(/^[a-z-]{1,20}$/))
      .max(8)
      .nullish(),
  }),
})
/** The answer that has a new public key. */
export type Attestation = z.infer<typeof Attestation>

export const readAssertion = (text: string): Assertion | null => read(Assertion, text)
export const readAttestation = (text: string): Attestation | null => read(Attestation, text)

function read<Shape>(schema: z.ZodType<Shape>, text: string): Shape | null {
  try {
    const parsed = schema.safeParse(JSON.parse(text))
    return parsed.success ? parsed.data : null
  } catch {
    return null
  }
}

export const toBytes = (text: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(Buffer.from(text, 'base64url'))

/** EdDSA, ES256 and RS256 (IANA, COSE algorithms): what authenticators have. */
export const algorithms = [-8, -7, -257] as const

const load = lazily(() => import('@simplewebauthn/server'))

export interface Expected {
  readonly party: RelyingParty
  readonly challenge: string
}

/** A new public key, once its answer is verified; null: it is refused. */
export interface FoundKey {
  readonly credentialId: Uint8Array
  readonly publicKey: Uint8Array
  readonly signCount: number
  readonly transports: readonly string[]
}

/** The person must have unlocked the authenticator: from then on it can stand for the password. */
export async function verifyAttestation(
  { id, response }: Attestation,
  { party, challenge }: Expected,
): Promise<FoundKey | null> {
  const { verifyRegistrationResponse } = await load()
  const found = await verifyRegistrationResponse({
    response: {
      ...toCredential(id),
      response: {
        clientDataJSON: response.clientDataJSON,
        attestationObject: response.attestationObject,
      },
    },
    expectedChallenge: challenge,
    expectedOrigin: [...party.origins],
    expectedRPID: party.id,
    requireUserVerification: true,
    supportedAlgorithmIDs: [...algorithms],
  }).catch(() => null)
  if (found === null || !found.verified) return null
  const { credential } = found.registrationInfo
  // What the authenticator signed, not what the browser says beside it.
  if (credential.id !== id) return null
  return {
    credentialId: toBytes(id),
    publicKey: new Uint8Array(credential.publicKey),
    signCount: credential.counter,
    transports: [...new Set(response.transports ?? [])],
  }
}

/**
 * The authenticator's count in a correct answer; null: it is refused. @param mustVerify the person must have
 * unlocked the authenticator: the answer replaces the password.
 */
export async function verifyAssertion(
  { id, response }: Assertion,
  passkey: PasskeyRow,
  { party, challenge, mustVerify }: Expected & { readonly mustVerify: boolean },
): Promise<number | null> {
  const handle = response.userHandle ?? ''
  // Where the passkey alone says who signs in, it must say so itself (WebAuthn §7.2, step 6).
  if (handle === '' ? mustVerify : handle !== toHandle(passkey.userId)) return null
  const { verifyAuthenticationResponse } = await load()
  const { clientDataJSON, authenticatorData, signature } = response
  const found = await verifyAuthenticationResponse({
    response: {
      ...toCredential(id),
      response: { clientDataJSON, authenticatorData, signature },
    },
    expectedChallenge: challenge,
    expectedOrigin: [...party.origins],
    expectedRPID: party.id,
    requireUserVerification: mustVerify,
    credential: {
      id,
      publicKey: new Uint8Array(passkey.publicKey),
      counter: passkey.signCount,
    },
  }).catch(() => null)
  return found?.verified === true ? found.authenticationInfo.newCounter : null
}

function toCredential(id: string) {
  return { id, rawId: id, type: 'public-key', clientExtensionResults: {} } as const
}

/** How a passkey names its user: their id, which says nothing else. */
export function toHandle(userId: string): string {
  return Buffer.from(userId, 'utf8').toString('base64url')
}
