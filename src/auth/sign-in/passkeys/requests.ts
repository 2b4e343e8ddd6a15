/** What a page asks the browser for: a passkey to sign in with, one of a person's, or a new one. */
import type { By, Person } from '#contract/actor.ts'
import type { PasskeyRow } from '#store/ports/passkeys.ts'
import type { UserRow } from '#store/ports/users.ts'
import type { ProofOptions } from '../proofs.ts'
import { algorithms, toHandle } from './answers.ts'
import { type ChallengeFor, makeChallenge } from './challenges.ts'
import type { RelyingParty } from './relying-party.ts'

/** For a page: the sealed challenge of its form, and what its script hands to the browser. */
export interface PasskeyRequest {
  readonly challenge: string
  /** Bytes are base64url text (WebAuthn §5.5 and §5.4). */
  readonly publicKey: Readonly<Record<string, unknown>>
}

const timeoutMs = 300_000

/** Any passkey of this server: the page says nothing of who has one. */
export function askToSignIn(
  options: ProofOptions,
  party: RelyingParty,
  binding: string,
): PasskeyRequest {
  return ask(options, party, { whose: { purpose: 'sign-in', binding }, passkeys: [] })
}

/** One of these, after the password. */
export function askForOne(
  options: ProofOptions,
  party: RelyingParty,
  { binding, passkeys }: { readonly binding: string; readonly passkeys: readonly PasskeyRow[] },
): PasskeyRequest {
  return ask(options, party, { whose: { purpose: 'second-step', binding }, passkeys })
}

function ask(
  options: ProofOptions,
  party: RelyingParty,
  { whose, passkeys }: { readonly whose: ChallengeFor; readonly passkeys: readonly PasskeyRow[] },
): PasskeyRequest {
  const { challenge, sealed } = makeChallenge(options, whose)
  return {
    challenge: sealed,
    publicKey: {
      challenge,
      timeout: timeoutMs,
      rpId: party.id,
      allowCredentials: passkeys.map(toDescriptor),
      userVerification: whose.purpose === 'sign-in' ? 'required' : 'preferred',
    },
  }
}

/** A new one, on an authenticator that has none of this person yet. */
export function askToAdd(
  options: ProofOptions,
  party: RelyingParty,
  { by, user, passkeys }: Adding,
): PasskeyRequest {
  const binding = by.actor.sessionId
  const { challenge, sealed } = makeChallenge(options, { purpose: 'add', binding })
  return {
    challenge: sealed,
    publicKey: {
      challenge,
      timeout: timeoutMs,
      rp: { id: party.id, name: 'Tributary' },
      user: { id: toHandle(user.id), name: user.email, displayName: user.name ?? user.email },
      pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg })),
      excludeCredentials: passkeys.map(toDescriptor),
      authenticatorSelection: {
        residentKey: 'required',
        requireResidentKey: true,
        userVerification: 'required',
      },
      attestation: 'none',
    },
  }
}

export interface Adding {
  readonly by: By<Person>
  readonly user: UserRow
  readonly passkeys: readonly PasskeyRow[]
}

function toDescriptor({ credentialId, transports }: PasskeyRow) {
  const id = Buffer.from(credentialId).toString('base64url')
  return { type: 'public-key', id, ...(transports.length > 0 ? { transports } : {}) }
}
