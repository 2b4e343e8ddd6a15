/**
 * The second step of a sign-in: a code, or one of the person's passkeys. Between the steps the browser holds
 * a sealed note that its password was right. The note is valid for five minutes, in the browser and page
 * visit that it was made for, and for nothing but this step: it is no session.
 */
import { hash } from 'node:crypto'
import { z } from 'zod'
import { parseUuid, type UserId } from '#kernel/ids.ts'
import type { UserRow } from '#store/ports/users.ts'
import { type RightCode, readCode } from './check-code.ts'
import { askInSecondStep } from './passkeys/passkeys.ts'
import type { PasskeyRequest } from './passkeys/requests.ts'
import { type GivenPasskey, type PasskeysOptions, readSecondStep } from './passkeys/uses.ts'
import {
  type CompletedSignIn,
  completeSignIn,
  noteRefusal,
  type ProofOptions,
  type Source,
  type TryLater,
  toFactorFound,
  toFound,
  tryProof,
} from './proofs.ts'
import { defineNotes } from './sealed-notes.ts'

export type CodeResult =
  | ({ readonly kind: 'in' } & CompletedSignIn)
  /** The code is wrong or was used before. */
  | { readonly kind: 'refused' }
  /** There is no valid note: the sign-in begins again with the password. */
  | { readonly kind: 'expired' }
  /** The passkey answers a page that is too old; the note is still valid. */
  | { readonly kind: 'stale' }
  /** The secret of the app cannot be read here; recovery codes and passkeys are good. */
  | { readonly kind: 'damaged' }
  | TryLater

/** The browser that a note belongs to. */
export interface NoteHolder {
  /** What only this browser has, e.g. the token of its forms. */
  readonly binding: string
}

export const noteLifeSeconds = 300
const notes = defineNotes('sign-in-code', noteLifeSeconds * 1000, {
  user: z.string(),
  password: z.string(),
})

/** Text for a cookie, which says that this person's present password was given. */
export function makeNote(
  options: ProofOptions,
  userId: UserId,
  stored: string,
  binding: string,
): string {
  return notes.seal(options, binding, { user: userId, password: digest(stored) })
}

/** What a person can give in the second step. */
export interface SecondStepChoice {
  /** Six digits of an app, beside the recovery codes. */
  readonly hasApp: boolean
  readonly hasPasskeys: boolean
  /** What their browser is asked for; null: it has no passkey to give on this page. */
  readonly passkey: PasskeyRequest | null
}

/** Null: there is no valid note. @param host the `Host` of the page. */
export async function readSecondChoice(
  options: PasskeysOptions,
  note: string | null,
  { binding, host }: NoteHolder & { readonly host: string | undefined },
): Promise<SecondStepChoice | null> {
  const noted = await readNote(options, note, binding)
  if (noted === null) return null
  const { id } = noted.user
  const passkeys = await options.store.passkeys.list(id)
  return {
    hasApp: await options.store.secondFactors.hasApp(id),
    hasPasskeys: passkeys.length > 0,
    passkey: askInSecondStep(options, host, { binding, passkeys }),
  }
}

/** Whose password was given; null: there is no valid note, or its password was changed meanwhile. */
async function readNote(
  options: ProofOptions,
  text: string | null,
  binding: string,
): Promise<{ readonly user: UserRow; readonly stored: string } | null> {
  const { store } = options
  const note = notes.open(options, binding, text)
  const userId = note === null ? null : parseUuid<UserId>(note.user)
  const user = userId === null ? null : await store.users.find(userId)
  const stored = user === null ? null : await store.sessions.findPassword(user.id)
  if (user === null || stored === null || digest(stored) !== note?.password) return null
  return { user, stored }
}

/** A code as typed, or the answer of a passkey. */
export type GivenProof = { readonly code: string } | { readonly passkey: GivenPasskey }

/** Checks the code of the person whose password was given. Consuming it is up to the start of the session. */
export async function giveCode(
  options: PasskeysOptions,
  given: { readonly note: string | null } & GivenProof,
  source: Source & NoteHolder,
): Promise<CodeResult> {
  const noted = await readNote(options, given.note, source.binding)
  if (noted === null) return expired
  const { user, stored } = noted
  // An operator has removed the second factor.
  if (!(await options.store.secondFactors.has(user.id))) return expired
  return tryProof(
    options,
    source.address,
    async () => toFactorFound(options, 'code', { user, stored }, source),
    async (): Promise<CodeResult> => {
      const code = await readProof(options, given, user.id, source)
      if (code === 'stale' || code === 'damaged') return { kind: code }
      if (code !== null) {
        // Now the whole proof is given: wrong passwords before it do not count any more.
        await options.attempts.forgive(toFound(options, user, stored, source).subject)
        return { kind: 'in', ...completeSignIn(options, user, { stored, code }, source) }
      }
      await noteRefusal(options, user.id, 'code' in given ? 'code' : 'passkey', source)
      return { kind: 'refused' }
    },
  )
}

function readProof(
  options: PasskeysOptions,
  given: GivenProof,
  userId: UserId,
  { binding }: NoteHolder,
): Promise<RightCode | 'stale' | 'damaged' | null> {
  if ('code' in given) return readCode(options, userId, given.code)
  return readSecondStep(options, { given: given.passkey, userId, binding })
}

const expired = { kind: 'expired' } as const

/** Which password was given: a note does not outlive a change of it. */
function digest(stored: string): string {
  return hash('sha256', `sign-in-code:${stored}`, 'base64url')
}
