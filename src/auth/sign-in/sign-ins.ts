/**
 * Sign-up and sign-in with one e-mail address and one password. Limits are in attempts.ts. A new account and a refusal
 * write an audit entry without a secret; the session that follows a right password writes its own (sessions.ts). A
 * refused sign-in reads the same whether the account exists or not; sign-up has to say that an address is taken, and is
 * limited per address alone.
 */

import { z } from 'zod'
import type { By, Visitor } from '#contract/actor.ts'
import { isEmail, tidyEmail } from '#contract/email.ts'
import { apiError } from '#contract/errors.ts'
import { toAddressGroup } from '#kernel/addresses.ts'
import { newId, type UserId } from '#kernel/ids.ts'
import { Secret } from '#kernel/secret.ts'
import type { Clock } from '#kernel/time.ts'
import { type AuditAction, refusedSignIn } from '#store/ports/audit.ts'
import type { WindowStore } from '#store/ports/kv.ts'
import type { Store } from '#store/ports/store.ts'
import type { UserRow } from '#store/ports/users.ts'
import { type Attempt, type Attempts, makeAttempts, type Subject } from './attempts.ts'
import { type Browsers, makeBrowsers } from './browsers.ts'
import { PasswordsBusyError, type Turn } from './hashing-queue.ts'
import { isAcceptable, type Passwords } from './password.ts'
import type { SignInProof } from './sessions.ts'
import { makeSetPassword, type SetPassword } from './set-password.ts'

export type SignInResult =
  | ({ readonly kind: 'in' } & CompletedSignIn)
  /** E-mail or password is wrong, or there is no such account: the answer does not say which. */
  | { readonly kind: 'refused' }
  | Later

export type SignUpResult =
  | ({ readonly kind: 'made' } & CompletedSignIn)
  | { readonly kind: 'invalid'; readonly problems: Readonly<Partial<Record<SignUpField, string>>> }
  /** Only operators create accounts here (`SIGN_UP=invite`). */
  | { readonly kind: 'closed' }
  | Later

/** A person gave the right password. */
export interface CompletedSignIn {
  readonly user: UserRow
  readonly proof: SignInProof
  /** The new value of the cookie that recognises this browser (browsers.ts). */
  readonly browser: string
}

/** Too many attempts, or the hashing queue is full. */
export interface Later {
  readonly kind: 'slow_down' | 'busy'
  readonly retryAfterSeconds: number
}

const SignUpField = z.enum(['name', 'email', 'password'])
export type SignUpField = z.infer<typeof SignUpField>

export interface SignInsOptions {
  readonly store: Store
  readonly clock: Clock
  readonly windows: WindowStore
  readonly passwords: Passwords
  /** Attempts per minute and address (`RATE_LIMIT_SIGNIN`); 0 switches off this limit and the limit of failures. */
  readonly signInLimit: number
  /** Sign the cookies of browsers: the first one signs, all verify. The same in every process. */
  readonly secrets: readonly Uint8Array[]
  readonly signUp: 'open' | 'invite' | 'closed'
}

export type GivenSignIn = Readonly<Record<'email' | 'password', string>>

/** Where a form was sent from. */
interface Source {
  readonly address: string
  readonly browser: string | null
}

export interface SignIns {
  readonly signUpIsOpen: boolean
  /**
   * Also used when a signed-in person gives the password again. `address`: where the request came from; `browser`: the
   * value of the cookie that recognises the browser.
   */
  signIn(given: GivenSignIn, address: string, browser?: string | null): Promise<SignInResult>
  /**
   * An action: creates the account of a visitor, whose input is `{name, email, password}`. Wrong fields are a result.
   * @throws ApiError `invalid_params` for other fields.
   */
  signUp(by: By<Visitor>, input: unknown, browser?: string | null): Promise<SignUpResult>
  /** For operators: the hash to store with a new user. @throws PasswordsBusyError */
  hashPassword(password: string): Promise<string>
  /** Ends every session of the user. */
  readonly setPassword: SetPassword
}

/** Longer than any accepted e-mail address. */
const maxGivenEmail = 1024
const namePattern = /^[^\p{Cc}]{1,100}$/u

const signUpProblems = {
  name: 'Enter a name of at most 100 characters',
  email: 'Enter an e-mail address like you@example.com',
  password: 'Choose a password of 10 to 256 characters; length is what counts',
} as const

const SignUpInput = z.strictObject({
  name: z.string(signUpProblems.name).trim().regex(namePattern, signUpProblems.name),
  email: z.string(signUpProblems.email).transform(tidyEmail).refine(isEmail, signUpProblems.email),
  password: z.string(signUpProblems.password).refine(isAcceptable, signUpProblems.password),
})
type SignUpInput = z.infer<typeof SignUpInput>

/** The answer when the hashing queue is full. */
const busy: Later = { kind: 'busy', retryAfterSeconds: 5 }

interface Parts extends SignInsOptions {
  readonly attempts: Attempts
  readonly browsers: Browsers
}

export function makeSignIns(options: SignInsOptions): SignIns {
  const { store, clock, windows, passwords, secrets } = options
  const [secret] = secrets
  if (secret === undefined) throw new RangeError('at least one secret is needed')
  const attempts = makeAttempts({ windows, perAddress: options.signInLimit, secret })
  const parts: Parts = { ...options, attempts, browsers: makeBrowsers({ secrets, clock }) }
  return {
    signUpIsOpen: options.signUp === 'open',
    signIn: (given, address, browser = null) => signIn(parts, given, { address, browser }),
    signUp: (by, input, browser = null) => signUp(parts, by, input, browser),
    hashPassword: (password) => passwords.hash(password),
    setPassword: makeSetPassword({
      store,
      clock,
      passwords,
      forgive: (userId) => attempts.forgive(userId),
    }),
  }
}

async function signIn(parts: Parts, given: GivenSignIn, source: Source): Promise<SignInResult> {
  const { attempts } = parts
  // The limit per address comes first, and a refused attempt counts nowhere else: otherwise one address could use up
  // the failures that an account is allowed.
  const wait = await attempts.ofAddress(source.address)
  if (wait !== null) return { kind: 'slow_down', retryAfterSeconds: wait }
  const found = await findSubject(parts, tidyEmail(given.email), source)
  const attempt = await attempts.begin(found.subject)
  if (!attempt.allowed) {
    return { kind: 'slow_down', retryAfterSeconds: attempt.retryAfterSeconds }
  }
  return settling(attempt, () => check(parts, found, given.password, source))
}

async function signUp(
  parts: Parts,
  { actor }: By<Visitor>,
  input: unknown,
  browser: string | null,
): Promise<SignUpResult> {
  if (parts.signUp !== 'open') return { kind: 'closed' }
  const source: Source = { address: actor.address, browser }
  const wait = await parts.attempts.ofAddress(source.address)
  if (wait !== null) return { kind: 'slow_down', retryAfterSeconds: wait }
  const parsed = SignUpInput.safeParse(input)
  if (!parsed.success) return { kind: 'invalid', problems: toProblems(parsed.error) }
  const given = parsed.data
  const passwordHash = await parts.passwords
    .hash(given.password, toTurn(source, null))
    .catch(whenBusy)
  if (passwordHash === null) return busy
  const user = await addUser(parts, given, passwordHash, source)
  if (user === 'taken') {
    const email = 'There is an account with this address; sign in instead'
    return { kind: 'invalid', problems: { email } }
  }
  return { kind: 'made', ...completeSignIn(parts, user, passwordHash, source) }
}

function addUser(
  parts: Parts,
  given: SignUpInput,
  passwordHash: string,
  source: Source,
): Promise<UserRow | 'taken'> {
  return parts.store.transact(async (tx) => {
    const made = await tx.users.create({
      email: given.email,
      name: given.name,
      passwordHash,
      timezone: null,
      plan: null,
      status: 'active',
      legacyUntil: null,
      grandfathered: false,
      createdAt: parts.clock.now(),
    })
    if (made !== 'taken') await tx.audit(toEntry(parts, 'account.signed-up', made.id, source))
    return made
  })
}

interface Found {
  readonly user: UserRow | null
  /** The hash of the account's password. */
  readonly stored: string | null
  readonly subject: Subject
}

/** Which counter a failure of this attempt belongs to, and what is stored of the account. */
async function findSubject(
  { store, browsers }: Parts,
  email: string,
  source: Source,
): Promise<Found> {
  // Not the present rules for addresses: the user may have been created under earlier ones.
  const isAddress = email.includes('@') && email.length <= maxGivenEmail && !/\p{Cc}/u.test(email)
  const user = isAddress ? await store.users.find(email) : null
  // Always query the store: a faster answer would reveal that the account does not exist.
  const stored = await store.sessions.findPassword(user?.id ?? newId<UserId>())
  if (user === null) return { user, stored: null, subject: { kind: 'stranger', email } }
  const holder = stored === null ? null : { userId: user.id, passwordHash: stored }
  const browser = holder === null ? null : browsers.recognise(source.browser, holder)
  const subject: Subject =
    browser === null
      ? { kind: 'account', userId: user.id }
      : { kind: 'browser', userId: user.id, browser }
  return { user, stored, subject }
}

async function check(
  parts: Parts,
  { user, stored, subject }: Found,
  password: string,
  source: Source,
): Promise<SignInResult> {
  const { store, passwords } = parts
  const isRight = await passwords
    .check(password.slice(0, 1024), stored, toTurn(source, subject))
    .catch(whenBusy)
  if (isRight === null) return busy
  if (!isRight || user === null || stored === null) {
    await store.audit(toEntry(parts, refusedSignIn, user?.id ?? null, source))
    return { kind: 'refused' }
  }
  return { kind: 'in', ...completeSignIn(parts, user, stored, source) }
}

function completeSignIn(
  { browsers }: Parts,
  user: UserRow,
  passwordHash: string,
  { browser }: Source,
): CompletedSignIn {
  return {
    user,
    proof: { userId: user.id, checked: new Secret(passwordHash) },
    browser: browsers.remember(browser, { userId: user.id, passwordHash }),
  }
}

function toEntry(
  { clock }: Parts,
  action: AuditAction,
  userId: UserId | null,
  { address }: Source,
) {
  const actor = { kind: 'visitor', address } as const
  return { at: clock.now(), actor, action, userId, subject: 'account' }
}

/**
 * A right password clears the failures, a wrong one stays counted, and an attempt whose password was not checked does
 * not count.
 */
async function settling(
  attempt: Attempt & { readonly allowed: true },
  check: () => Promise<SignInResult>,
): Promise<SignInResult> {
  let result: SignInResult | null = null
  try {
    result = await check()
    return result
  } finally {
    if (result?.kind === 'in') await attempt.succeed()
    else if (result?.kind !== 'refused') await attempt.withdraw()
  }
}

/** A known browser queues under its user: one account has one place in the queue, whatever its addresses. */
function toTurn({ address }: Source, subject: Subject | null): Turn {
  if (subject?.kind === 'browser') return { from: subject.userId, isKnown: true }
  return { from: toAddressGroup(address), isKnown: false }
}

/** The first problem of each field. @throws ApiError `invalid_params` where no field is to blame. */
function toProblems({ issues }: z.ZodError): Partial<Record<SignUpField, string>> {
  const problems: Partial<Record<SignUpField, string>> = {}
  for (const { path, message } of issues) {
    const field = SignUpField.safeParse(path[0])
    if (!field.success) throw apiError('invalid_params', { details: ['body: has other fields'] })
    problems[field.data] ??= message
  }
  return problems
}

/** Turns PasswordsBusyError into null. */
function whenBusy(error: unknown): null {
  if (error instanceof PasswordsBusyError) return null
  throw error
}
