/**
 * One limited attempt at proving who somebody is, by password or by code: whose failures it counts for, how
 * it is settled, and what a completed sign-in consists of. The steps themselves are in sign-ins.ts,
 * code-step.ts and passkeys.ts.
 */
import { type AuditDetails, refusedSignIn } from '#contract/audit.ts'
import { toAddressGroup } from '#kernel/addresses.ts'
import type { UserId } from '#kernel/ids.ts'
import { Secret } from '#kernel/secret.ts'
import type { Store } from '#store/ports/store.ts'
import type { UserRow } from '#store/ports/users.ts'
import type { Sealer } from '#store/seal.ts'
import type { Attempt, Attempts, Subject } from './attempts.ts'
import type { Browsers } from './browsers.ts'
import type { CheckCodeOptions, RightCode } from './check-code.ts'
import { type HashingTurn, PasswordsBusyError } from './hashing-queue.ts'
import { DamagedHashError, type Passwords } from './password.ts'
import type { SignInProof } from './sessions.ts'

/** A person proved who they are. */
export interface CompletedSignIn {
  readonly user: UserRow
  readonly proof: SignInProof
  /** The new value of the cookie that recognises this browser (browsers.ts). */
  readonly browser: string
}

/** Too many attempts, or the hashing queue is full. */
export interface TryLater {
  readonly kind: 'slow_down' | 'busy'
  readonly retryAfterSeconds: number
}

/** Where a form was sent from. */
export interface Source {
  readonly address: string
  /** The value of the cookie that recognises the browser (browsers.ts). */
  readonly browser: string | null
}

export interface ProofOptions extends CheckCodeOptions {
  readonly store: Store
  readonly passwords: Passwords
  readonly sealer: Pick<Sealer, 'seal' | 'open'>
  readonly attempts: Attempts
  readonly browsers: Browsers
}

/** Whom an attempt is about. */
export interface AttemptTarget {
  readonly user: UserRow | null
  /** The hash of the account's password. */
  readonly stored: string | null
  /** Whose failures it counts for. */
  readonly subject: Subject
}

/** The answer when the hashing queue is full. */
export const busy: TryLater = { kind: 'busy', retryAfterSeconds: 5 }

/** Longer passwords are cut before they are hashed; no accepted one is that long. */
const maxTypedPassword = 1024

/**
 * Runs `check` when the limits allow it. The limit per address comes first, and a refused attempt counts
 * nowhere else: otherwise one address could use up the failures that an account is allowed.
 */
export async function tryProof<Result extends { readonly kind: string }>(
  { attempts }: ProofOptions,
  address: string,
  find: () => Promise<AttemptTarget>,
  check: (found: AttemptTarget) => Promise<Result>,
): Promise<Result | TryLater> {
  const wait = await attempts.ofAddress(address)
  if (wait !== null) return { kind: 'slow_down', retryAfterSeconds: wait }
  const found = await find()
  const attempt = await attempts.begin(found.subject)
  if (!attempt.allowed) {
    return { kind: 'slow_down', retryAfterSeconds: attempt.retryAfterSeconds }
  }
  return settling(attempt, () => check(found))
}

/**
 * `in` clears the failures, `refused` stays counted, and anything else does not count: nothing was checked,
 * or what was right is only a part of the proof.
 */
async function settling<Result extends { readonly kind: string }>(
  attempt: Attempt & { readonly allowed: true },
  check: () => Promise<Result>,
): Promise<Result> {
  let result: Result | null = null
  try {
    result = await check()
    return result
  } finally {
    if (result?.kind === 'in') await attempt.succeed()
    else if (result?.kind !== 'refused') await attempt.withdraw()
  }
}

/** The account with its counter: that of this browser where the account's owner signed in with it before. */
export function toFound(
  { browsers }: ProofOptions,
  user: UserRow,
  stored: string | null,
  source: Source,
): AttemptTarget {
  const holder = stored === null ? null : { userId: user.id, passwordHash: stored }
  const browser = holder === null ? null : browsers.recognise(source.browser, holder)
  const subject: Subject =
    browser === null
      ? { kind: 'account', userId: user.id }
      : { kind: 'browser', userId: user.id, browser }
  return { user, stored, subject }
}

/** The same for an attempt at a code, or with a passkey alone. */
export function toFactorFound(
  options: ProofOptions,
  kind: 'code' | 'passkey',
  { user, stored }: { readonly user: UserRow; readonly stored: string | null },
  source: Source,
): AttemptTarget {
  const isKnown = toFound(options, user, stored, source).subject.kind === 'browser'
  return { user, stored, subject: { kind, userId: user.id, isKnown } }
}

/**
 * Null when the hashing queue is full. It takes as long for an account that does not exist. No password is
 * right where the stored hash is damaged: a new one mends it.
 */
export function isRightPassword(
  { passwords, onDamaged }: ProofOptions,
  { user, stored, subject }: AttemptTarget,
  password: string,
  source: Source,
): Promise<boolean | null> {
  return passwords
    .check(password.slice(0, maxTypedPassword), stored, toTurn(source, subject))
    .catch((error: unknown) => {
      if (!(error instanceof DamagedHashError)) return whenBusy(error)
      const mend = `\`tributary users set-password ${user?.id}\` stores another`
      onDamaged(new Error(`a stored password is damaged: ${mend}`, { cause: error }))
      return false
    })
}

/** Writes down that a password or a code was wrong, or that a right password was not enough. */
export async function noteRefusal(
  { store, clock }: ProofOptions,
  userId: UserId | null,
  refused: AuditDetails[typeof refusedSignIn]['refused'],
  { address }: Source,
): Promise<void> {
  const actor = { kind: 'visitor', address } as const
  await store.audit({ at: clock.now(), actor, action: refusedSignIn, userId, details: { refused } })
}

/** @param code the code that was given besides the password; null for an account without a second factor. */
export function completeSignIn(
  { browsers }: Pick<ProofOptions, 'browsers'>,
  user: UserRow,
  { stored, code }: { readonly stored: string; readonly code: RightCode | null },
  { browser }: Source,
): CompletedSignIn {
  return {
    user,
    proof: { userId: user.id, checked: new Secret(stored), code },
    browser: browsers.remember(browser, { userId: user.id, passwordHash: stored }),
  }
}

/** A known browser queues under its user: one account has one place in the queue, whatever its addresses. */
export function toTurn({ address }: Source, subject: Subject | null): HashingTurn {
  if (subject?.kind === 'browser') return { from: subject.userId, isKnown: true }
  return { from: toAddressGroup(address), isKnown: false }
}

/** Turns PasswordsBusyError into null. */
export function whenBusy(error: unknown): null {
  if (error instanceof PasswordsBusyError) return null
  throw error
}
