/**
 * The authenticator app as a person's second factor: set up, given new recovery codes, switched off; and
 * removed by an operator, with the passkeys, for a person who lost everything. While it is set up the secret
 * is stored nowhere: the browser holds it sealed, for ten minutes and for the session that began, so that
 * nobody else who knows the password can read a secret that its owner is about to confirm.
 */

import { hash } from 'node:crypto'
import { z } from 'zod'
import type { By, Operator, Person, System } from '#contract/actor.ts'
import { apiError } from '#contract/errors.ts'
import { parseInput } from '#contract/input.ts'
import type { SessionId, UserId } from '#kernel/ids.ts'
import type { AuthActionOptions } from '../action-options.ts'
import { consumeCode, readCode, toPlain } from './check-code.ts'
import {
  noteRefusal,
  type ProofOptions,
  type Source,
  type TryLater,
  toFactorFound,
  tryProof,
} from './proofs.ts'
import { makeRecoveryCodes } from './recovery-codes.ts'
import { defineNotes } from './sealed-notes.ts'
import { findStep, makeTotpSecret, toTotpText, toTotpUri } from './totp.ts'

/** A secret that waits for its first code. */
export interface SetUp {
  /** Names the secret in the form, so that a page that shows another one is noticed. */
  readonly id: string
  /** Base32, for typing. */
  readonly text: string
  /** The content of the QR code. */
  readonly uri: string
}

export type SwitchedOn =
  /** The recovery codes, which are never shown again. */
  | { readonly kind: 'on'; readonly codes: readonly string[] }
  | { readonly kind: 'refused' }
  /** The set-up has ended, or the form shows another secret: it begins again. */
  | { readonly kind: 'expired' }
  /** Another page was faster. */
  | { readonly kind: 'already_on' }

export type SwitchedOff =
  | { readonly kind: 'in' }
  | { readonly kind: 'refused' }
  /** The secret of the app cannot be read here: a recovery code is good. */
  | { readonly kind: 'damaged' }
  /** There is no second factor. */
  | { readonly kind: 'none' }
  | TryLater

export interface SecondFactors {
  /** Text for a cookie, with a new secret. */
  beginSetUp(by: By<Person>): string
  /**
   * Null when the text is another session's, too old or damaged. @param email names the account in the app.
   */
  readSetUp(by: By<Person>, text: string | null, email: string): SetUp | null
  /**
   * The text under which a set-up goes on when the person gives the password again, or changes it, and so
   * gets another session in the same browser. Null: there is none that could go on.
   */
  moveSetUp(text: string | null, from: SessionId, to: SessionId): string | null
  /** An action: `input` is `{setUp, code}`. @throws ApiError `invalid_params` */
  switchOn(by: By<Person>, text: string | null, input: unknown): Promise<SwitchedOn>
  /** An action: new recovery codes instead of all former ones; null without a second factor. */
  renewCodes(by: By<Person>): Promise<readonly string[] | null>
  /** An action: `input` is `{code}`; wrong codes count as at sign-in. @throws ApiError `invalid_params` */
  switchOff(by: By<Person>, input: unknown, source: Source): Promise<SwitchedOff>
}

export const setUpLifeSeconds = 600
const setUps = defineNotes('second-factor-set-up', setUpLifeSeconds * 1000, {
  secret: z.base64url(),
})

const OnInput = z.strictObject({ setUp: z.string('must be text'), code: z.string('must be text') })
const OffInput = z.strictObject({ code: z.string('must be text') })

export function makeSecondFactors(options: ProofOptions): SecondFactors {
  const { store, clock } = options

  function openSecret({ actor }: By<Person>, text: string | null): Uint8Array | null {
    const pending = setUps.open(options, actor.sessionId, text)
    return pending === null ? null : new Uint8Array(Buffer.from(pending.secret, 'base64url'))
  }

  return {
    beginSetUp({ actor }) {
      const secret = Buffer.from(makeTotpSecret()).toString('base64url')
      return setUps.seal(options, actor.sessionId, { secret })
    },
    readSetUp(by, text, email) {
      const secret = openSecret(by, text)
      if (secret === null) return null
      return { id: idOf(secret), text: toTotpText(secret), uri: toTotpUri(secret, email) }
    },
    moveSetUp(text, from, to) {
      const pending = setUps.open(options, from, text)
      if (pending === null) return null
      return setUps.seal(options, to, { secret: pending.secret }, pending.until)
    },
    async switchOn(by, text, input) {
      const given = parseInput(OnInput, input)
      if (await store.secondFactors.hasApp(by.actor.userId)) return { kind: 'already_on' }
      const secret = openSecret(by, text)
      if (secret === null || idOf(secret) !== given.setUp) return { kind: 'expired' }
      const step = findStep(secret, toPlain(given.code), clock.now())
      return step === null ? { kind: 'refused' } : storeFactor(options, by, { secret, step })
    },
    renewCodes: (by) => renewCodes(options, by),
    switchOff: (by, input, source) => switchOff(options, by, parseInput(OffInput, input), source),
  }
}

async function storeFactor(
  { store, clock }: ProofOptions,
  { actor }: By<Person>,
  factor: { readonly secret: Uint8Array; readonly step: number },
): Promise<SwitchedOn> {
  const { userId } = actor
  const { codes, hashes } = makeRecoveryCodes()
  return store.transact(async (tx) => {
    const at = clock.now()
    if (!(await tx.secondFactors.create({ userId, at, ...factor, codeHashes: hashes }))) {
      return { kind: 'already_on' }
    }
    const action = 'account.set-second-factor'
    await tx.audit({ at, actor, action, userId, details: {} })
    return { kind: 'on', codes }
  })
}

async function renewCodes(
  { store, clock }: ProofOptions,
  { actor }: By<Person>,
): Promise<readonly string[] | null> {
  const { userId } = actor
  const { codes, hashes } = makeRecoveryCodes()
  return store.transact(async (tx) => {
    if (!(await tx.secondFactors.replaceCodes(userId, hashes))) return null
    const action = 'account.set-recovery-codes'
    await tx.audit({ at: clock.now(), actor, action, userId, details: {} })
    return codes
  })
}

async function switchOff(
  options: ProofOptions,
  { actor }: By<Person>,
  { code: typed }: z.infer<typeof OffInput>,
  source: Source,
): Promise<SwitchedOff> {
  const { store, clock } = options
  const { userId } = actor
  const user = await store.users.find(userId)
  if (user === null || !(await store.secondFactors.hasApp(userId))) return { kind: 'none' }
  const stored = await store.sessions.findPassword(userId)
  const find = async () => toFactorFound(options, 'code', { user, stored }, source)
  return tryProof<SwitchedOff>(options, source.address, find, async () => {
    const code = await readCode(options, userId, typed)
    if (code === 'damaged') return { kind: 'damaged' }
    const isOff =
      code !== null &&
      (await store.transact(async (tx) => {
        const at = clock.now()
        if (!(await consumeCode(tx, userId, code, at))) return false
        if (!(await tx.secondFactors.removeApp(userId))) return false
        const action = 'account.remove-second-factor'
        await tx.audit({ at, actor, action, userId, details: {} })
        return true
      }))
    if (isOff) return { kind: 'in' }
    await noteRefusal(options, userId, 'code', source)
    return { kind: 'refused' }
  })
}

/** An operator removes a user's app, passkeys and recovery codes. @throws ApiError `user_not_found`. */
export type ResetSecondFactor = (by: By<Operator | System>, userId: UserId) => Promise<void>

/** Repeating it changes nothing and writes nothing. */
export function makeResetSecondFactor(options: AuthActionOptions): ResetSecondFactor {
  return ({ actor }, userId) =>
    options.store.transact(async (tx) => {
      if ((await tx.users.find(userId)) === null) throw apiError('user_not_found')
      if (!(await tx.secondFactors.delete(userId))) return
      const about = { action: 'users.reset-second-factor', userId, details: {} } as const
      await tx.audit({ at: options.clock.now(), actor, ...about })
    })
}

function idOf(secret: Uint8Array): string {
  return hash('sha256', secret, 'base64url').slice(0, 16)
}
