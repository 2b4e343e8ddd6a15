/**
 * What a person does with a mailed link: accept an invitation, confirm an address, choose a new password; and
 * how they ask for one. Limits are those of sign-ins (attempts.ts). Whether an account exists shows in no
 * answer and in no time.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { By, Person, Visitor } from '#contract/actor.ts'
import { tidyEmail } from '#contract/email.ts'
import { toAddressGroup } from '#kernel/addresses.ts'
import type { UserId } from '#kernel/ids.ts'
import { OwnerGoneError } from '#store/failure.ts'
import type { SingleUseKind } from '#store/ports/single-use.ts'
import type { Store } from '#store/ports/store.ts'
import type { UserRow } from '#store/ports/users.ts'
import { ownTimezone } from '../timezone.ts'
import type { Attempts } from './attempts.ts'
import type { Browsers } from './browsers.ts'
import { GivenName, GivenPassword, mayBeEmail, passwordProblem } from './given-fields.ts'
import { type Invite, type InviteOptions, makeInvite } from './invite.ts'
import { isAcceptable, type Passwords } from './password.ts'
import {
  busy,
  type CompletedSignIn,
  completeSignIn,
  type TryLater,
  toTurn,
  whenBusy,
} from './proofs.ts'
import { addProven, thinOut } from './prove-address.ts'
import { storePassword } from './set-password.ts'
import { type FoundToken, findToken, makeUrl, useToken, type VoidReason } from './single-use.ts'

/** The link cannot be used; `why` says what a page can say. */
interface Void {
  readonly kind: 'void'
  readonly why: VoidReason
}

export type AcceptResult =
  | ({ readonly kind: 'made' } & CompletedSignIn)
  | {
      readonly kind: 'invalid'
      readonly problems: Readonly<Partial<Record<'name' | 'password', string>>>
    }
  /** The address has got an account meanwhile; the invitation stays as it is. */
  | { readonly kind: 'taken' }
  | { readonly kind: 'closed' }
  | Void
  | TryLater

export type ChooseResult =
  | { readonly kind: 'done' }
  | { readonly kind: 'invalid'; readonly problem: string }
  | Void
  | TryLater

/** `replaces`: an account whose address nobody has confirmed; it ends when the link is used; null: none. */
export type JudgedToken = FoundToken & { readonly replaces: UserId | null }

export type ConfirmResult = { readonly kind: 'done' } | { readonly kind: 'others' } | Void

export interface ByMail {
  readonly signUp: InviteOptions['signUp']
  /** There is a mail server. */
  readonly isMailed: boolean
  readonly invite: Invite
  /** `address`: that of the browser. */
  find(
    kind: 'invitation' | 'confirmation' | 'reset',
    token: string,
    address: string,
  ): Promise<JudgedToken>
  /** An action: makes an invited visitor's account. `input`: `{name, password}`; the address is known. */
  accept(
    by: By<Visitor>,
    token: string,
    input: { readonly name: string; readonly password: string },
    browser: string | null,
  ): Promise<AcceptResult>
  /** Sends a link for a new password to the address if there is an account; the answer is the same if not. */
  askForPassword(by: By<Visitor>, email: string): Promise<{ readonly kind: 'asked' } | TryLater>
  /**
   * An action: ends every session of the user; second factors stay. Where mail proves the address for the
   * first time, a new account takes the place of the one that somebody made (prove-address.ts).
   */
  choosePassword(by: By<Visitor>, token: string, newPassword: string): Promise<ChooseResult>
  /**
   * An action of the person who is signed in: only somebody who has the account and the mail of its address
   * confirms it. The link stays as it is for anybody else (`others`).
   */
  confirm(by: By<Person>, token: string): Promise<ConfirmResult>
  /** Sends the link of a confirmation again. False: too many were sent, no mail server, or confirmed. */
  sendConfirmation(by: By<Person>): Promise<boolean>
}

export interface ByMailOptions extends InviteOptions {
  readonly store: InviteOptions['store'] & Pick<Store, 'endpoints' | 'deliveries' | 'forStranger'>
  readonly passwords: Passwords
  readonly attempts: Attempts
  readonly browsers: Browsers
  /** Every request for a new password takes at least this long; 400 milliseconds when absent. */
  readonly leastMs?: number
}

export function makeByMail(options: ByMailOptions): ByMail {
  const isMailed = options.print === null
  return {
    signUp: options.signUp,
    isMailed,
    invite: makeInvite(options),
    find: (kind, token, address) =>
      options.store.forStranger(toAddressGroup(address), () => judgeToken(options, kind, token)),
    accept: (by, token, input, browser) => accept(options, by, { token, input, browser }),
    askForPassword: (by, email) => askForPassword(options, by, email),
    choosePassword: (by, token, newPassword) => choosePassword(options, by, token, newPassword),
    confirm: (by, token) => confirm(options, by, token),
    async sendConfirmation({ actor }) {
      const user = await options.store.users.find(actor.userId)
      if (!isMailed || user === null || user.emailConfirmedAt !== null) return false
      if (!(await options.attempts.ofMail('confirmation', user.email))) return false
      const about = { userId: user.id, email: user.email }
      const made = await options.store.transact((tx) => makeUrl(options, tx, 'confirmation', about))
      return made !== null
    },
  }
}

async function judgeToken(
  options: ByMailOptions,
  kind: SingleUseKind,
  token: string,
): Promise<JudgedToken> {
  const found = await findToken(options, kind, token)
  if (found.kind === 'void' || !provesAddress(options, kind)) return { ...found, replaces: null }
  const user = await options.store.users.find(found.row.userId ?? found.row.email)
  return { ...found, replaces: user?.emailConfirmedAt === null ? user.id : null }
}

/** A link of the log proves nothing about an address; an invitation is the word of the operator. */
function provesAddress({ print }: ByMailOptions, kind: SingleUseKind): boolean {
  return kind === 'invitation' || (kind === 'reset' && print === null)
}

const AcceptInput = z.object({ name: GivenName, password: GivenPassword, timezone: ownTimezone })

interface Accepting {
  readonly token: string
  readonly input: unknown
  readonly browser: string | null
}

async function accept(
  options: ByMailOptions,
  { actor }: By<Visitor>,
  { token, input, browser }: Accepting,
): Promise<AcceptResult> {
  if (options.signUp === 'closed') return { kind: 'closed' }
  const wait = await options.attempts.ofAddress(actor.address)
  if (wait !== null) return { kind: 'slow_down', retryAfterSeconds: wait }
  const found = await judgeToken(options, 'invitation', token)
  if (found.kind === 'void') return found
  const parsed = AcceptInput.safeParse(input)
  if (!parsed.success) {
    const { name, password } = z.flattenError(parsed.error).fieldErrors
    const problems = { ...(name && { name: name[0] }), ...(password && { password: password[0] }) }
    return { kind: 'invalid', problems: problems as Record<string, string> }
  }
  const passwordHash = await hashFor(options, actor, parsed.data.password)
  if (passwordHash === null) return busy
  if (found.replaces !== null) await thinOut(options.store, found.replaces)
  const made = await addInvited(options, actor, token, { ...parsed.data, passwordHash })
  if (made === 'taken') return { kind: 'taken' }
  if (made === null) return asVoid(await findToken(options, 'invitation', token))
  const proven = { stored: passwordHash, code: null }
  const source = { address: actor.address, browser }
  return { kind: 'made', ...completeSignIn(options, made, proven, source) }
}

/** Rolls the use of an invitation back. */
class TakenError extends Error {
  override readonly name = 'TakenError'
}

async function addInvited(
  options: ByMailOptions,
  actor: Visitor,
  token: string,
  given: {
    readonly name: string
    readonly passwordHash: string
    readonly timezone: string | null
  },
): Promise<UserRow | 'taken' | null> {
  const at = options.clock.now()
  try {
    return await options.store.transact(async (tx) => {
      const row = await useToken(options, tx, 'invitation', token)
      if (row === null) return null
      const user = await addProven(tx, { actor, email: row.email, ...given, at })
      if (user === 'taken') throw new TakenError('the invited address has an account')
      return user
    })
  } catch (error) {
    if (error instanceof TakenError) return 'taken'
    throw error
  }
}

const defaultLeastMs = 400

async function askForPassword(
  options: ByMailOptions,
  { actor }: By<Visitor>,
  given: string,
): Promise<{ readonly kind: 'asked' } | TryLater> {
  const wait = await options.attempts.ofAddress(actor.address)
  if (wait !== null) return { kind: 'slow_down', retryAfterSeconds: wait }
  // The work for an account takes longer than for none: the answer waits for a time above both.
  const least = sleep(options.leastMs ?? defaultLeastMs)
  await sendReset(options, actor, tidyEmail(given))
  await least
  return { kind: 'asked' }
}

async function sendReset(options: ByMailOptions, actor: Visitor, email: string): Promise<void> {
  const user = mayBeEmail(email) ? await options.store.users.find(email) : null
  if (user === null || !(await options.attempts.ofMail('reset', user.email))) return
  const about = { userId: user.id, email: user.email }
  const made = await options.store
    .transact(async (tx) => {
      const url = await makeUrl(options, tx, 'reset', about)
      if (url === null) return null
      const entry = { action: 'account.asked-for-password', userId: user.id } as const
      await tx.audit({ at: options.clock.now(), actor, ...entry, details: {} })
      return url
    })
    .catch((error: unknown) => {
      // The account was deleted at this moment: there is none.
      if (error instanceof OwnerGoneError) return null
      throw error
    })
  if (made !== null) options.print?.({ kind: 'reset', email: user.email, ...made })
}

async function choosePassword(
  options: ByMailOptions,
  { actor }: By<Visitor>,
  token: string,
  newPassword: string,
): Promise<ChooseResult> {
  const wait = await options.attempts.ofAddress(actor.address)
  if (wait !== null) return { kind: 'slow_down', retryAfterSeconds: wait }
  const found = await judgeToken(options, 'reset', token)
  if (found.kind === 'void') return found
  if (!isAcceptable(newPassword)) return { kind: 'invalid', problem: passwordProblem }
  const hash = await hashFor(options, actor, newPassword)
  if (hash === null) return busy
  if (found.replaces !== null) await thinOut(options.store, found.replaces)
  const at = options.clock.now()
  const userId = await options.store.transact(async (tx): Promise<UserId | null> => {
    const row = await useToken(options, tx, 'reset', token)
    if (row === null || row.userId === null) return null
    const { userId, email } = row
    if (provesAddress(options, 'reset')) {
      const made = await addProven(tx, { actor, email, name: null, passwordHash: hash, at })
      if (made !== 'taken') return made.id
    }
    return (await storePassword(tx, { actor, userId, hash, at })) ? userId : null
  })
  if (userId === null) return asVoid(await findToken(options, 'reset', token))
  await options.attempts.forgive({ kind: 'account', userId })
  return { kind: 'done' }
}

async function confirm(
  options: ByMailOptions,
  { actor }: By<Person>,
  token: string,
): Promise<ConfirmResult> {
  const found = await findToken(options, 'confirmation', token)
  if (found.kind === 'void') return found
  const { userId } = actor
  if (found.row.userId !== userId) return { kind: 'others' }
  const at = options.clock.now()
  const isDone = await options.store.transact(async (tx) => {
    if ((await useToken(options, tx, 'confirmation', token)) === null) return false
    if (!(await tx.users.confirmEmail(userId, at))) return false
    await tx.audit({ at, actor, action: 'account.confirmed', userId, details: {} })
    return true
  })
  return isDone ? { kind: 'done' } : asVoid(await findToken(options, 'confirmation', token))
}

/** Another request used the link in the meantime, or its user is being deleted. */
function asVoid(found: FoundToken): Void {
  return found.kind === 'void' ? found : { kind: 'void', why: 'unknown' }
}

/** Null: the queue is full. */
function hashFor(
  { passwords }: ByMailOptions,
  { address }: Visitor,
  password: string,
): Promise<string | null> {
  return passwords.hash(password, toTurn({ address, browser: null }, null)).catch(whenBusy)
}
