/**
 * An answer of a passkey as proof: in place of the password and the second factor, or after the password.
 * Reading says whether it is right; the start of the session uses it up.
 */
import type { Origins } from '#contract/origins.ts'
import { newId, type UserId } from '#kernel/ids.ts'
import type { PasskeyRow } from '#store/ports/passkeys.ts'
import type { RightCode } from '../check-code.ts'
import {
  type AttemptTarget,
  type CompletedSignIn,
  completeSignIn,
  noteRefusal,
  type ProofOptions,
  type Source,
  type TryLater,
  toFactorFound,
  tryProof,
} from '../proofs.ts'
import { type Assertion, readAssertion, toBytes, verifyAssertion } from './answers.ts'
import { type ChallengePurpose, openChallenge } from './challenges.ts'
import { type RelyingParty, toRelyingParty } from './relying-party.ts'

/** What the form of a passkey sends: the sealed challenge of its page, and the browser's answer as JSON. */
export interface GivenPasskey {
  readonly challenge: string
  readonly credential: string
}

export type PasskeyResult =
  | ({ readonly kind: 'in' } & CompletedSignIn)
  /** It is not known or not right: the answer does not say which. */
  | { readonly kind: 'refused' }
  /** The page is too old or another browser's: nothing was checked. */
  | { readonly kind: 'stale' }
  | TryLater

export interface PasskeysOptions extends ProofOptions {
  /** Called late: with port 0 the origins are known only after the server listens. */
  readonly origins: () => Origins
}

export interface PasskeyBinding {
  /** What only this browser has, e.g. the token of its forms. */
  readonly binding: string
}

interface Known extends AttemptTarget {
  readonly assertion: Assertion | null
  readonly passkey: PasskeyRow | null
}

/** Signs in with a passkey alone: the person unlocked it, so that it is both factors at once. */
export function signInByPasskey(
  options: ProofOptions,
  party: RelyingParty,
  given: GivenPasskey,
  source: Source & PasskeyBinding,
): Promise<PasskeyResult> {
  // `tryProof` hands its target on; the rest of what was found goes beside it.
  let known: Known | null = null
  const find = async () => {
    known = await findPasskey(options, given, source)
    return known
  }
  return tryProof<PasskeyResult>(options, source.address, find, async () =>
    known === null ? { kind: 'refused' } : check(options, party, { given, source, known }),
  )
}

async function findPasskey(
  options: ProofOptions,
  given: GivenPasskey,
  source: Source,
): Promise<Known> {
  const { store } = options
  const assertion = readAssertion(given.credential)
  const passkey = assertion === null ? null : await store.passkeys.find(toBytes(assertion.id))
  // Both are always read: a faster answer would reveal that the passkey is not known.
  const userId = passkey?.userId ?? newId<UserId>()
  const user = await store.users.find(userId)
  const stored = await store.sessions.findPassword(userId)
  if (user === null) {
    const subject = { kind: 'stranger', email: `passkey ${assertion?.id ?? ''}` } as const
    return { assertion, passkey, user, stored, subject }
  }
  return { assertion, passkey, ...toFactorFound(options, 'passkey', { user, stored }, source) }
}

interface Checking {
  readonly given: GivenPasskey
  readonly source: Source & PasskeyBinding
  readonly known: Known
}

async function check(
  options: ProofOptions,
  party: RelyingParty,
  { given, source, known }: Checking,
): Promise<PasskeyResult> {
  const { assertion, passkey, user, stored } = known
  const { binding } = source
  const read = await readPasskey(options, party, {
    ...{ given, assertion, passkey, binding },
    purpose: 'sign-in',
  })
  if (read === 'stale') return { kind: 'stale' }
  if (read === null || user === null || stored === null) {
    await noteRefusal(options, user?.id ?? null, 'passkey', source)
    return { kind: 'refused' }
  }
  return { kind: 'in', ...completeSignIn(options, user, { stored, code: read }, source) }
}

export interface ReadPasskey {
  readonly given: GivenPasskey
  readonly assertion: Assertion | null
  readonly passkey: PasskeyRow | null
  readonly purpose: Exclude<ChallengePurpose, 'add'>
  readonly binding: string
}

/** Null: it is refused. 'stale': its challenge has expired or is another browser's. */
async function readPasskey(
  options: ProofOptions,
  party: RelyingParty,
  { given, assertion, passkey, purpose, binding }: ReadPasskey,
): Promise<RightCode | 'stale' | null> {
  const opened = openChallenge(options, { purpose, binding }, given.challenge)
  if (opened === null) return 'stale'
  if (assertion === null || passkey === null) return null
  const { challenge, hash, expiresAt } = opened
  const mustVerify = purpose === 'sign-in'
  const signCount = await verifyAssertion(assertion, passkey, { party, challenge, mustVerify })
  if (signCount === null) return null
  const use = { passkeyId: passkey.id, signCount, challenge: { hash, expiresAt } }
  return { kind: 'passkey', use }
}

/** The answer of one of this user's passkeys, after their password. */
export async function readSecondStep(
  options: PasskeysOptions,
  { given, userId, binding }: SecondStep,
): Promise<RightCode | 'stale' | null> {
  const party = toRelyingParty(options.origins())
  const assertion = party === null ? null : readAssertion(given.credential)
  const found = assertion === null ? null : await options.store.passkeys.find(toBytes(assertion.id))
  const passkey = found?.userId === userId ? found : null
  if (party === null) return null
  return readPasskey(options, party, {
    ...{ given, assertion, passkey, binding },
    purpose: 'second-step',
  })
}

export interface SecondStep extends PasskeyBinding {
  readonly given: GivenPasskey
  readonly userId: UserId
}
