/**
 * Sign-up and sign-in with one e-mail address and one password. Limits are in attempts.ts. A new account and
 * a refusal write an audit entry without a secret; the session that follows a right password writes its own
 * (sessions.ts). A refused sign-in reads the same whether the account exists or not; sign-up has to say that
 * an address is taken, and is limited per address alone.
 */

import { z } from 'zod'
import type { By, Visitor } from '#contract/actor.ts'
import { isEmail, tidyEmail } from '#contract/email.ts'
import { apiError } from '#contract/errors.ts'
import type { Origins } from '#contract/origins.ts'
import type { WindowStore } from '#fast/port.ts'
import { newId, type UserId } from '#kernel/ids.ts'
import type { Clock } from '#kernel/time.ts'
import type { Store } from '#store/ports/store.ts'
import type { UserRow } from '#store/ports/users.ts'
import type { Sealer } from '#store/seal.ts'
import { ownTimezone } from '../timezone.ts'
import { makeAttempts } from './attempts.ts'
import { makeBrowsers } from './browsers.ts'
import { type ChangePassword, makeChangePassword } from './change-password.ts'
import {
  type CodeResult,
  type GivenProof,
  giveCode,
  makeNote,
  type NoteHolder,
  readSecondChoice,
  type SecondStepChoice,
} from './code-step.ts'
import { type CountForm, makeCountForm } from './form-limit.ts'
import { GivenName, GivenPassword, mayBeEmail } from './given-fields.ts'
import { makePasskeys, type Passkeys } from './passkeys/passkeys.ts'
import type { Passwords } from './password.ts'
import {
  type AttemptTarget,
  busy,
  type CompletedSignIn,
  completeSignIn,
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
import { makeRunIdempotent, type RunIdempotent } from './repeated-form.ts'
import { makeSecondFactors, type SecondFactors } from './second-factor.ts'
import { makeSetPassword, type SetPassword } from './set-password.ts'
import type { BeginConfirmation } from './single-use.ts'

export type { CompletedSignIn, TryLater } from './proofs.ts'

export type SignInResult =
  | ({ readonly kind: 'in' } & CompletedSignIn)
  /** The password is right and the account has a second factor: `giveCode` comes next, with this note. */
  | { readonly kind: 'code'; readonly note: string }
  /** E-mail or password is wrong, or there is no such account: the answer does not say which. */
  | { readonly kind: 'refused' }
  | TryLater

export type SignUpResult =
  | ({ readonly kind: 'made' } & CompletedSignIn)
  | { readonly kind: 'invalid'; readonly problems: Readonly<Partial<Record<SignUpField, string>>> }
  /** Only who is invited may sign up, or nobody (`SIGN_UP`). */
  | { readonly kind: 'closed' }
  | TryLater

const SignUpField = z.enum(['name', 'email', 'password'])
export type SignUpField = z.infer<typeof SignUpField>

export interface SignInsOptions {
  readonly store: Store
  readonly clock: Clock
  readonly windows: WindowStore
  readonly passwords: Passwords
  readonly sealer: Pick<Sealer, 'seal' | 'open'>
  readonly onDamaged: ProofOptions['onDamaged']
  /** Attempts per minute and address (`RATE_LIMIT_SIGNIN`); 0: neither this limit nor that of passwords. */
  readonly signInLimit: number
  /** Sign the cookies of browsers: the first one signs, all verify. The same in every process. */
  readonly secrets: readonly Uint8Array[]
  readonly signUp: 'open' | 'invite' | 'closed'
  /** The public addresses, by which passkeys are bound to this server. */
  readonly origins: () => Origins
  /** In the transaction that makes the account of a visitor; absent: nothing is to be confirmed. */
  readonly beginConfirmation?: BeginConfirmation
}

export type GivenSignIn = Readonly<Record<'email' | 'password', string>>

export interface SignIns {
  readonly signUpIsOpen: boolean
  /**
   * Also used when a signed-in person gives the password again. `address`: where the request came from;
   * `browser`: the value of the cookie that recognises the browser; `binding`: see code-step.ts.
   */
  signIn(
    given: GivenSignIn,
    address: string,
    browser?: string | null,
    binding?: string,
  ): Promise<SignInResult>
  /** The second step, with the note that the first one returned; `binding` must be the same in both. */
  giveCode(
    given: { readonly note: string | null } & GivenProof,
    source: Source & NoteHolder,
  ): Promise<CodeResult>
  /** What `giveCode` takes with this note on a page under `host`; null: the note is not valid. */
  readSecondChoice(
    note: string | null,
    place: NoteHolder & { readonly host: string | undefined },
  ): Promise<SecondStepChoice | null>
  /**
   * An action: creates the account of a visitor, whose input is `{name, email, password}`. Wrong fields are a
   * result.
   * @throws ApiError `invalid_params` for other fields.
   */
  signUp(by: By<Visitor>, input: unknown, browser?: string | null): Promise<SignUpResult>
  /** For operators: the hash to store with a new user. @throws PasswordsBusyError */
  hashPassword(password: string): Promise<string>
  /** Ends every session of the user. */
  readonly setPassword: SetPassword
  readonly changePassword: ChangePassword
  readonly secondFactors: SecondFactors
  readonly passkeys: Passkeys
  readonly countForm: CountForm
  readonly runIdempotent: RunIdempotent
}

const emailProblem = 'Enter an e-mail address like you@example.com'

const SignUpInput = z.strictObject({
  name: GivenName,
  email: z.string(emailProblem).transform(tidyEmail).refine(isEmail, emailProblem),
  password: GivenPassword,
  timezone: ownTimezone,
})
type SignUpInput = z.infer<typeof SignUpInput>

type Parts = SignInsOptions & ProofOptions

export function makeSignIns(options: SignInsOptions): SignIns {
  const { store, clock, windows, passwords, secrets } = options
  const [secret] = secrets
  if (secret === undefined) throw new RangeError('at least one secret is needed')
  const attempts = makeAttempts({ windows, perAddress: options.signInLimit, secret })
  const parts: Parts = { ...options, attempts, browsers: makeBrowsers({ secrets, clock }) }
  return {
    signUpIsOpen: options.signUp === 'open',
    signIn: (given, address, browser = null, binding = '') =>
      signIn(parts, given, { address, browser, binding }),
    giveCode: (given, source) => giveCode(parts, given, source),
    readSecondChoice: (note, place) => readSecondChoice(parts, note, place),
    signUp: (by, input, browser = null) => signUp(parts, by, input, browser),
    hashPassword: (password) => passwords.hash(password),
    changePassword: makeChangePassword(parts),
    secondFactors: makeSecondFactors(parts),
    passkeys: makePasskeys(parts),
    countForm: makeCountForm(options),
    runIdempotent: makeRunIdempotent(options),
    setPassword: makeSetPassword({
      store,
      clock,
      passwords,
      forgive: (userId) => attempts.forgive({ kind: 'account', userId }),
    }),
  }
}

function signIn(
  parts: Parts,
  given: GivenSignIn,
  source: Source & NoteHolder,
): Promise<SignInResult> {
  const find = () => findSubject(parts, tidyEmail(given.email), source)
  return tryProof(parts, source.address, find, (found) =>
    check(parts, found, given.password, source),
  )
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
  return {
    kind: 'made',
    ...completeSignIn(parts, user, { stored: passwordHash, code: null }, source),
  }
}

async function addUser(
  parts: Parts,
  given: SignUpInput,
  passwordHash: string,
  source: Source,
): Promise<UserRow | 'taken'> {
  const isMailed = await mayConfirm(parts, given)
  return parts.store.transact(async (tx) => {
    const made = await tx.users.create({
      email: given.email,
      name: given.name,
      passwordHash,
      timezone: given.timezone,
      plan: null,
      status: 'active',
      legacyUntil: null,
      grandfathered: false,
      createdAt: parts.clock.now(),
    })
    if (made === 'taken') return made
    const actor = { kind: 'visitor', address: source.address } as const
    const about = { action: 'account.signed-up', userId: made.id, details: {} } as const
    await tx.audit({ at: parts.clock.now(), actor, ...about })
    if (isMailed) await parts.beginConfirmation?.(tx, made)
    return made
  })
}

/** False: the address got many mails within the hour; the link can be sent again from the account. */
async function mayConfirm(parts: Parts, { email }: SignUpInput): Promise<boolean> {
  if (parts.beginConfirmation === undefined) return false
  // Only what is mailed counts: a sign-up with a known address must not use up its owner's mails.
  if ((await parts.store.users.find(email, { deleting: true })) !== null) return false
  return parts.attempts.ofMail('confirmation', email)
}

/** Which counter a failure of this attempt belongs to, and what is stored of the account. */
async function findSubject(parts: Parts, email: string, source: Source): Promise<AttemptTarget> {
  const { store } = parts
  const user = mayBeEmail(email) ? await store.users.find(email) : null
  // Always query the store: a faster answer would reveal that the account does not exist.
  const stored = await store.sessions.findPassword(user?.id ?? newId<UserId>())
  if (user === null) return { user, stored: null, subject: { kind: 'stranger', email } }
  return toFound(parts, user, stored, source)
}

async function check(
  parts: Parts,
  found: AttemptTarget,
  password: string,
  source: Source & NoteHolder,
): Promise<SignInResult> {
  const { user, stored } = found
  const isRight = await isRightPassword(parts, found, password, source)
  if (isRight === null) return busy
  if (!isRight || user === null || stored === null) {
    await noteRefusal(parts, user?.id ?? null, 'account', source)
    return { kind: 'refused' }
  }
  if (await parts.store.secondFactors.has(user.id)) {
    // Whoever has the password and not the code leaves no other trace.
    await noteRefusal(parts, user.id, 'code-missing', source)
    return { kind: 'code', note: makeNote(parts, user.id, stored, source.binding) }
  }
  return { kind: 'in', ...completeSignIn(parts, user, { stored, code: null }, source) }
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
