/**
 * A person changes their own password with the present one. Every session ends but theirs, which goes on
 * under a new cookie; wrong present passwords count like those of a sign-in.
 */
import { z } from 'zod'
import type { By, Person } from '#contract/actor.ts'
import { parseInput } from '#contract/input.ts'
import type { SessionId } from '#kernel/ids.ts'
import { toAgentText } from './own-sessions.ts'
import { isAcceptable } from './password.ts'
import {
  busy,
  isRightPassword,
  noteRefusal,
  type ProofOptions,
  type Source,
  type TryLater,
  toFound,
  toTurn,
  tryProof,
  whenBusy,
} from './proofs.ts'
import { newToken, toTokenDigest } from './sessions.ts'

export type ChangedPassword =
  | {
      readonly kind: 'in'
      /** The new cookie of the session. */
      readonly token: string
      /** The session goes on under this id. */
      readonly sessionId: SessionId
      /** The new value of the cookie that recognises this browser. */
      readonly browser: string
    }
  /** The present password is wrong. */
  | { readonly kind: 'refused' }
  /** The new password cannot be used; nothing was checked. */
  | { readonly kind: 'unacceptable' }
  /** The session or the password ended meanwhile: nothing has changed. */
  | { readonly kind: 'ended' }
  | TryLater

const PasswordsInput = z.strictObject({
  password: z.string('must be text'),
  newPassword: z.string('must be text'),
})

/** `input` is `{password, newPassword}`. @throws ApiError `invalid_params` for other fields. */
export type ChangePassword = (
  by: By<Person>,
  input: unknown,
  source: Source & { readonly agent: string | null },
) => Promise<ChangedPassword>

export function makeChangePassword(options: ProofOptions): ChangePassword {
  const { store } = options
  return async (by, input, source) => {
    const given = parseInput(PasswordsInput, input)
    if (!isAcceptable(given.newPassword)) return { kind: 'unacceptable' }
    const user = await store.users.find(by.actor.userId)
    const stored = await store.sessions.findPassword(by.actor.userId)
    if (user === null || stored === null) return { kind: 'ended' }
    const find = async () => toFound(options, user, stored, source)
    return tryProof<ChangedPassword>(options, source.address, find, async (found) => {
      const isRight = await isRightPassword(options, found, given.password, source)
      if (isRight === null) return busy
      if (!isRight) {
        await noteRefusal(options, user.id, 'account', source)
        return { kind: 'refused' }
      }
      const hash = await options.passwords
        .hash(given.newPassword, toTurn(source, found.subject))
        .catch(whenBusy)
      return hash === null ? busy : replace(options, by, { stored, hash }, source)
    })
  }
}

/** One transaction: the old sessions end, the new one of this browser begins, and the audit says so. */
async function replace(
  { store, clock, attempts, browsers }: ProofOptions,
  { actor }: By<Person>,
  { stored, hash }: { readonly stored: string; readonly hash: string },
  source: Source & { readonly agent: string | null },
): Promise<ChangedPassword> {
  const { userId, sessionId } = actor
  const token = newToken()
  const begun = await store.transact(async (tx) => {
    const at = clock.now()
    const isOpen = (await tx.sessions.list(userId)).some(({ id }) => id === sessionId)
    if (!isOpen || !(await tx.sessions.setPassword(userId, hash, stored))) return null
    const made = await tx.sessions.create({
      userId,
      hash: toTokenDigest(token),
      at,
      passwordHash: hash,
      address: source.address,
      agent: toAgentText(source.agent),
    })
    if (made === null) throw new Error('the password that was stored just now is not the one read')
    await tx.linkings.moveSession(userId, sessionId, made.id)
    await tx.audit({ at, actor, action: 'account.set-password', userId, details: {} })
    return made.id
  })
  if (begun === null) return { kind: 'ended' }
  await attempts.forgive({ kind: 'account', userId })
  const browser = browsers.remember(source.browser, { userId, passwordHash: hash })
  return { kind: 'in', token, sessionId: begun, browser }
}
