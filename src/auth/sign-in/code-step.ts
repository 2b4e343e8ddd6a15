/**
 * The second step of a sign-in: the code. Between the steps the browser holds a sealed note that its password
 * was right. The note is valid for five minutes, in the browser and page visit that it was made for, and for
 * nothing but this step: it is no session.
 */
import { hash } from 'node:crypto'
import { z } from 'zod'
import { parseUuid, type UserId } from '#kernel/ids.ts'
import { SealError } from '#store/seal.ts'
import { readCode } from './check-code.ts'
import {
  type CompletedSignIn,
  completeSignIn,
  noteRefusal,
  type ProofOptions,
  type Source,
  type TryLater,
  toCodeFound,
  toFound,
  tryProof,
} from './proofs.ts'

export type CodeResult =
  | ({ readonly kind: 'in' } & CompletedSignIn)
  /** The code is wrong or was used before. */
  | { readonly kind: 'refused' }
  /** There is no valid note: the sign-in begins again with the password. */
  | { readonly kind: 'expired' }
  | TryLater

/** The browser that a note belongs to. */
export interface NoteHolder {
  /** What only this browser has, e.g. the token of its forms. */
  readonly binding: string
}

export const noteLifeSeconds = 300
const purpose = 'sign-in-code'

const Note = z.strictObject({ user: z.string(), password: z.string(), until: z.int() })
type Note = z.infer<typeof Note>

/** Text for a cookie, which says that this person's present password was given. */
export function makeNote(
  { sealer, clock }: ProofOptions,
  userId: UserId,
  stored: string,
  binding: string,
): string {
  const until = clock.now() + noteLifeSeconds * 1000
  const note: Note = { user: userId, password: digest(stored), until }
  const bytes = Buffer.from(JSON.stringify(note), 'utf8')
  return Buffer.from(sealer.seal(purpose, binding, bytes)).toString('base64url')
}

/** True while the code may be given with this note. */
export function isValidNote(options: ProofOptions, note: string | null, binding: string): boolean {
  return openNote(options, note, binding) !== null
}

/** Checks the code of the person whose password was given. Consuming it is up to the start of the session. */
export async function giveCode(
  options: ProofOptions,
  given: { readonly note: string | null; readonly code: string },
  source: Source & NoteHolder,
): Promise<CodeResult> {
  const { store, clock } = options
  const note = openNote(options, given.note, source.binding)
  const userId = note === null ? null : parseUuid<UserId>(note.user)
  const user = userId === null ? null : await store.users.find(userId)
  const stored = user === null ? null : await store.sessions.findPassword(user.id)
  // The password was changed meanwhile, or an operator has removed the second factor.
  if (user === null || stored === null || digest(stored) !== note?.password) return expired
  if (!(await store.secondFactors.has(user.id))) return expired
  return tryProof(
    options,
    source.address,
    async () => toCodeFound(options, user, stored, source),
    async (): Promise<CodeResult> => {
      const code = await readCode(store, user.id, given.code, clock.now())
      if (code !== null) {
        // Now the whole proof is given: wrong passwords before it do not count any more.
        await options.attempts.forgive(toFound(options, user, stored, source).subject)
        return { kind: 'in', ...completeSignIn(options, user, { stored, code }, source) }
      }
      await noteRefusal(options, user.id, 'code', source)
      return { kind: 'refused' }
    },
  )
}

const expired = { kind: 'expired' } as const

function openNote(
  { sealer, clock }: ProofOptions,
  text: string | null,
  binding: string,
): Note | null {
  if (text === null) return null
  try {
    const bytes = sealer.open(purpose, binding, Buffer.from(text, 'base64url'))
    const note = Note.parse(JSON.parse(Buffer.from(bytes).toString('utf8')))
    return clock.now() < note.until ? note : null
  } catch (error) {
    // Another browser's, or damaged: whoever sends it has given no password.
    if (error instanceof SealError) return null
    throw error
  }
}

/** Which password was given: a note does not outlive a change of it. */
function digest(stored: string): string {
  return hash('sha256', `sign-in-code:${stored}`, 'base64url')
}
