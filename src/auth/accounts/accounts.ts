/**
 * Signing up and signing in: one e-mail address, one password. Attempts are limited per account and per address, and each
 * step leaves an audit entry without a secret. A refused sign-in reads the same whether the account exists or not; signing
 * up has to say that an address is taken, and is limited per address alone.
 */
import { toAddressGroup } from '#kernel/addresses.ts'
import type { UserId } from '#kernel/ids.ts'
import type { Clock } from '#kernel/time.ts'
import type { WindowStore } from '#store/kv-port.ts'
import type { Store, UserRow } from '#store/port.ts'
import { isAcceptable, type Passwords, PasswordsBusyError } from './password.ts'

export type SignInResult =
  | { readonly kind: 'in'; readonly user: UserRow }
  /** E-mail or password is wrong, or there is no such account: nobody is told which. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'slow_down'; readonly retryAfterSeconds: number }

export type SignUpResult =
  | { readonly kind: 'made'; readonly user: UserRow }
  | { readonly kind: 'invalid'; readonly problems: Readonly<Partial<Record<SignUpField, string>>> }
  /** Only the operator makes accounts here (`SIGN_UP=invite`). */
  | { readonly kind: 'closed' }
  | { readonly kind: 'slow_down'; readonly retryAfterSeconds: number }

export type SignUpField = 'name' | 'email' | 'password'

export interface AccountsOptions {
  readonly store: Store
  readonly clock: Clock
  readonly windows: WindowStore
  readonly passwords: Passwords
  /** Attempts per minute and address, and per minute and account (`RATE_LIMIT_SIGNIN`); 0 turns it off. */
  readonly signInLimit: number
  readonly signUp: 'open' | 'invite'
}

export interface Accounts {
  readonly signUpIsOpen: boolean
  /** Also for somebody who is signed in and gives the password once more. `address`: where the request came from. */
  signIn(given: { email: string; password: string }, address: string): Promise<SignInResult>
  signUp(given: Readonly<Record<SignUpField, string>>, address: string): Promise<SignUpResult>
  /** For operators: what to store with a new user. @throws PasswordsBusyError */
  hashPassword(password: string): Promise<string>
  /** For operators. Ends every session of the user; false when there is no such user. @throws PasswordsBusyError */
  setPassword(userId: UserId, password: string): Promise<boolean>
}

const windowMs = 60_000
const emailPattern = /^[^\s@\p{Cc}]{1,64}@[^\s@.\p{Cc}]+(?:\.[^\s@.\p{Cc}]+)+$/u
const namePattern = /^[^\p{Cc}]{1,100}$/u

/** An address that mail could reach; no attempt is made to be cleverer than that. */
export function isEmail(text: string): boolean {
  return text.length <= 254 && emailPattern.test(text)
}

export function makeAccounts(options: AccountsOptions): Accounts {
  const { store, clock, windows, passwords } = options

  /** Counts an attempt; the seconds to wait when there were too many. */
  async function throttle(names: readonly string[]): Promise<number | null> {
    const states = await Promise.all(
      names.map((name) => windows.take(`sign-in:${name}`, options.signInLimit, windowMs)),
    )
    const refused = states.filter((state) => !state.allowed)
    if (refused.length === 0) return null
    return Math.max(1, ...refused.map((state) => Math.ceil(state.resetMs / 1000)))
  }

  async function audit(action: string, userId: UserId | null, address: string): Promise<void> {
    await store.audit({ at: clock.now(), actor: address, action, userId, subject: 'account' })
  }

  async function check(
    user: UserRow | null,
    password: string,
    address: string,
  ): Promise<SignInResult> {
    const stored = user === null ? null : await store.sessions.findPassword(user.id)
    const isRight = await passwords.check(password.slice(0, 1024), stored).catch(whenBusy)
    if (isRight === null) return { kind: 'slow_down', retryAfterSeconds: 1 }
    if (!isRight || user === null) {
      await audit('account.sign-in-refused', user?.id ?? null, address)
      return { kind: 'refused' }
    }
    await audit('account.signed-in', user.id, address)
    return { kind: 'in', user }
  }

  return {
    signUpIsOpen: options.signUp === 'open',
    async signIn(given, address) {
      const email = given.email.trim()
      const wait = await throttle([`address:${toAddressGroup(address)}`, `email:${toKey(email)}`])
      if (wait !== null) return { kind: 'slow_down', retryAfterSeconds: wait }
      const user = isEmail(email) ? await store.users.find(email) : null
      return check(user, given.password, address)
    },
    async signUp(given, address) {
      if (options.signUp !== 'open') return { kind: 'closed' }
      const wait = await throttle([`address:${toAddressGroup(address)}`])
      if (wait !== null) return { kind: 'slow_down', retryAfterSeconds: wait }
      const problems = findProblems(given)
      if (Object.keys(problems).length > 0) return { kind: 'invalid', problems }
      const passwordHash = await passwords.hash(given.password).catch(whenBusy)
      if (passwordHash === null) return { kind: 'slow_down', retryAfterSeconds: 1 }
      const user = await store.users.create({
        email: given.email.trim(),
        name: given.name.trim(),
        passwordHash,
        timezone: null,
        plan: null,
        status: 'active',
        legacyUntil: null,
        grandfathered: false,
        createdAt: clock.now(),
      })
      if (user === 'taken') {
        const email = 'There is an account with this address; sign in instead'
        return { kind: 'invalid', problems: { email } }
      }
      await audit('account.signed-up', user.id, address)
      return { kind: 'made', user }
    },
    hashPassword: passwords.hash,
    async setPassword(userId, password) {
      const hash = await passwords.hash(password)
      if (!(await store.sessions.setPassword(userId, hash))) return false
      await store.sessions.deleteAll(userId)
      return true
    },
  }
}

/** The attempts on one account are counted together, however its address is spelled (as the store compares them). */
function toKey(email: string): string {
  return email.normalize('NFC').toLowerCase().slice(0, 254)
}

function findProblems(
  given: Readonly<Record<SignUpField, string>>,
): Partial<Record<SignUpField, string>> {
  return {
    ...(namePattern.test(given.name.trim())
      ? {}
      : { name: 'Enter a name of at most 100 characters' }),
    ...(isEmail(given.email.trim())
      ? {}
      : { email: 'Enter an e-mail address like you@example.com' }),
    ...(isAcceptable(given.password)
      ? {}
      : { password: 'Choose a password of 10 to 256 characters; length is what counts' }),
  }
}

/** Null instead of the error that says so. */
function whenBusy(error: unknown): null {
  if (error instanceof PasswordsBusyError) return null
  throw error
}
