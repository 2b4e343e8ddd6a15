/**
 * A person's passkeys: asked for, added, used and removed. A passkey is a way to sign in and a second factor
 * at once: from the first one on, the password alone signs nobody in.
 */
import { z } from 'zod'
import type { By, Person } from '#contract/actor.ts'
import { nameText, parseInput } from '#contract/input.ts'
import type { PasskeyId } from '#kernel/ids.ts'
import { maxPasskeys, type PasskeyRow, type StoredPasskey } from '#store/ports/passkeys.ts'
import type { UserRow } from '#store/ports/users.ts'
import type { ProofOptions, Source } from '../proofs.ts'
import { makeRecoveryCodes } from '../recovery-codes.ts'
import { type Attestation, type FoundKey, readAttestation, verifyAttestation } from './answers.ts'
import { type OpenedChallenge, openChallenge } from './challenges.ts'
import { isAtHome, type RelyingParty, toRelyingParty } from './relying-party.ts'
import { askForOne, askToAdd, askToSignIn, type PasskeyRequest } from './requests.ts'
import {
  type GivenPasskey,
  type PasskeyBinding,
  type PasskeyResult,
  type PasskeysOptions,
  signInByPasskey,
} from './uses.ts'

export type AddedPasskey =
  /** The recovery codes, when it is the first second factor; they are never shown again. */
  | { readonly kind: 'added'; readonly codes: readonly string[] }
  /** The browser's answer is not right. */
  | { readonly kind: 'refused' }
  /** The page is too old. */
  | { readonly kind: 'stale' }
  /** The answer of this page was sent before, and perhaps accepted. */
  | { readonly kind: 'used' }
  | { readonly kind: 'full' }
  /** The authenticator's id is stored already. */
  | { readonly kind: 'taken' }

export interface Passkeys {
  /** Where passkeys work; null: nowhere, with these addresses. */
  home(): string | null
  /** What a page under this `Host` asks the browser for; null: passkeys do not work there. */
  askToSignIn(host: string | undefined, binding: string): PasskeyRequest | null
  /** The same for a new one. */
  askToAdd(
    host: string | undefined,
    by: By<Person>,
    about: { readonly user: UserRow; readonly passkeys: readonly PasskeyRow[] },
  ): PasskeyRequest | null
  signIn(given: GivenPasskey, source: Source & PasskeyBinding): Promise<PasskeyResult>
  /** An action: `input` is `{name, challenge, credential}`. @throws ApiError `invalid_params` */
  add(by: By<Person>, input: unknown): Promise<AddedPasskey>
  /** An action. False: the person has no such passkey. */
  remove(by: By<Person>, id: PasskeyId): Promise<boolean>
}

/** How many one person may have. */
export const passkeysAllowed = maxPasskeys

const AddInput = z.strictObject({
  name: nameText(1),
  challenge: z.string('must be text'),
  credential: z.string('must be text'),
})

/** WebAuthn options for the pages; none for an origin that is not ours. */
export function makePasskeys(options: PasskeysOptions): Passkeys {
  const party = () => toRelyingParty(options.origins())
  const partyAt = (host: string | undefined) => findParty(options, host)
  return {
    home: () => party()?.origins[0] ?? null,
    askToSignIn(host, binding) {
      const found = partyAt(host)
      return found === null ? null : askToSignIn(options, found, binding)
    },
    askToAdd(host, by, about) {
      const found = partyAt(host)
      return found === null ? null : askToAdd(options, found, { by, ...about })
    },
    async signIn(given, source) {
      const found = party()
      return found === null ? { kind: 'refused' } : signInByPasskey(options, found, given, source)
    },
    async add(by, input) {
      const given = parseInput(AddInput, input)
      const found = party()
      return found === null
        ? { kind: 'refused' }
        : addPasskey(options, by, { ...given, party: found })
    },
    remove: ({ actor }, id) => removePasskey(options, actor, id),
  }
}

/** Null: passkeys do not work on a page under this `Host`. */
function findParty({ origins }: PasskeysOptions, host: string | undefined): RelyingParty | null {
  const found = toRelyingParty(origins())
  return found !== null && isAtHome(found, host) ? found : null
}

/** What the second step of a sign-in asks the browser for; null also when the person has no passkey. */
export function askInSecondStep(
  options: PasskeysOptions,
  host: string | undefined,
  asked: { readonly passkeys: readonly PasskeyRow[] } & PasskeyBinding,
): PasskeyRequest | null {
  const found = asked.passkeys.length === 0 ? null : findParty(options, host)
  return found === null ? null : askForOne(options, found, asked)
}

interface Adding extends z.infer<typeof AddInput> {
  readonly party: RelyingParty
}

async function addPasskey(
  options: ProofOptions,
  by: By<Person>,
  { name, challenge: sealed, credential, party }: Adding,
): Promise<AddedPasskey> {
  const whose = { purpose: 'add', binding: by.actor.sessionId } as const
  const opened = openChallenge(options, whose, sealed)
  if (opened === null) return { kind: 'stale' }
  const attestation: Attestation | null = readAttestation(credential)
  const found =
    attestation === null
      ? null
      : await verifyAttestation(attestation, { party, challenge: opened.challenge })
  if (found === null) return { kind: 'refused' }
  return storePasskey(options, by, { found, name, opened })
}

interface Storing {
  readonly found: FoundKey
  readonly name: string
  readonly opened: OpenedChallenge
}

/** The passkey, the audit row and the notice are one transaction. */
async function storePasskey(
  { store, clock }: ProofOptions,
  { actor }: By<Person>,
  { found, name, opened: { hash, expiresAt } }: Storing,
): Promise<AddedPasskey> {
  const { userId } = actor
  const { codes, hashes } = makeRecoveryCodes()
  const stored = await store.transact(async (tx): Promise<StoredPasskey> => {
    const at = clock.now()
    const made = await tx.passkeys.create({
      ...{ ...found, userId, name, createdAt: at },
      challenge: { hash, expiresAt },
      codeHashes: hashes,
    })
    if (made.kind !== 'made') return made
    const details = { passkeyId: made.row.id }
    await tx.audit({ at, actor, action: 'account.add-passkey', userId, details })
    const matter = { kind: 'passkey-added', name } as const
    await tx.mails.queue({ key: `passkey:${made.row.id}`, userId, matter, at })
    return made
  })
  if (stored.kind === 'made') return { kind: 'added', codes: stored.areCodesNew ? codes : [] }
  return stored
}

function removePasskey(
  { store, clock }: ProofOptions,
  actor: Person,
  passkeyId: PasskeyId,
): Promise<boolean> {
  const { userId } = actor
  return store.transact(async (tx) => {
    if (!(await tx.passkeys.remove(userId, passkeyId))) return false
    const action = 'account.remove-passkey'
    await tx.audit({ at: clock.now(), actor, action, userId, details: { passkeyId } })
    return true
  })
}
