/**
 * Limits how often a password or a code may be guessed: attempts per minute and address, and failures per
 * account. Ten failures are free, then one more each minute, at most 100 a day; the right password clears
 * them. A browser that signed in before has its own count of failures, so that guesses from elsewhere cannot
 * lock the owner out. Accounts that do not exist are limited in the same way. Codes have counts of their own:
 * six digits can be guessed, so nothing switches their limit off, and a new password does not clear it.
 */

import { createHmac } from 'node:crypto'
import { comparableEmails, maxEmailLength } from '#contract/email.ts'
import type { WindowStore } from '#fast/port.ts'
import { toAddressGroup } from '#kernel/addresses.ts'
import type { UserId } from '#kernel/ids.ts'
import { toRetrySeconds } from '#kernel/retry-after.ts'
import { dayMs, hourMs, minuteMs } from '#kernel/time.ts'

const freeFailures = 10
const failuresPerDay = 100
/** Mails of one kind to one address: as many as one account may ask for (single-use.ts). */
const mailsPerHour = 5
/**
 * Addresses without an account share this many counters, so that made-up addresses cannot fill the memory.
 */
const strangerSlots = 16_384

/** Whose failures are counted. */
export type Subject =
  | { readonly kind: 'account'; readonly userId: UserId }
  | { readonly kind: 'browser'; readonly userId: UserId; readonly browser: string }
  | { readonly kind: 'stranger'; readonly email: string }
  /** Codes; all known browsers of the account share one count, so that more of them allow no more guesses. */
  | { readonly kind: 'code'; readonly userId: UserId; readonly isKnown: boolean }
  /** Passkeys, in the same way: neither they nor wrong passwords from elsewhere lock their owner out. */
  | { readonly kind: 'passkey'; readonly userId: UserId; readonly isKnown: boolean }

export type Attempt =
  | {
      readonly allowed: true
      /** The password was right: clear earlier failures. */
      succeed(): Promise<void>
      /** The password was not checked: do not count the attempt. */
      withdraw(): Promise<void>
    }
  | { readonly allowed: false; readonly retryAfterSeconds: number }

export interface Attempts {
  /** Counts an attempt of an address; the seconds to wait when there were too many, else null. */
  ofAddress(address: string): Promise<number | null>
  /** Counts a failure in advance, until `succeed` or `withdraw`: parallel guesses stay within the limit. */
  begin(subject: Subject): Promise<Attempt>
  /**
   * Counts a mail with a link to an address; false when there were too many in the last hour. The count
   * outlives the account: whoever makes and deletes accounts with somebody's address cannot flood their
   * mailbox. Each kind has its own: whoever has made an account with somebody's address, and has its
   * confirmation sent again and again, does not use up the links for a password.
   */
  ofMail(kind: 'confirmation' | 'reset', email: string): Promise<boolean>
  /** Clears the failures that were counted for a subject. */
  forgive(subject: Subject): Promise<void>
}

export interface AttemptsOptions {
  readonly windows: WindowStore
  /** Attempts per minute and address (`RATE_LIMIT_SIGNIN`); 0: no limit but that of codes. */
  readonly perAddress: number
  /** The same in every process. */
  readonly secret: Uint8Array
}

export function makeAttempts({ windows, perAddress, secret }: AttemptsOptions): Attempts {
  const isOff = perAddress === 0

  const sign = (text: string) => createHmac('sha256', secret).update(text).digest()

  /** The keys of the failures of a day, and of the pause after the free ones. */
  function windowsOf(subject: Subject) {
    const kind =
      'isKnown' in subject && subject.isKnown ? (`${subject.kind}-known` as const) : subject.kind
    const name = nameOf(subject, sign)
    return { failures: `${kind}:${name}`, pause: `${kind}-pause:${name}` } as const
  }

  async function forgive(subject: Subject): Promise<void> {
    const { failures, pause } = windowsOf(subject)
    await Promise.all([windows.forget(failures), windows.forget(pause)])
  }

  return {
    forgive,

    async ofAddress(address) {
      const state = await windows.take(`sign-in:${toAddressGroup(address)}`, perAddress, minuteMs)
      return state.allowed ? null : toRetrySeconds(state.resetMs)
    },

    async ofMail(kind, email) {
      // Keyed: shared memory holds no addresses.
      const name = sign(`mail:${kind}:${toKey(email)}`).toString('base64url')
      return (await windows.take(`mail-to:${name}`, mailsPerHour, hourMs)).allowed
    },

    async begin(subject) {
      if (isOff && subject.kind !== 'code') return unlimited
      const { failures, pause } = windowsOf(subject)
      const day = await windows.take(failures, failuresPerDay, dayMs)
      if (!day.allowed) return { allowed: false, retryAfterSeconds: toRetrySeconds(day.resetMs) }
      const withoutDay = () => windows.giveBack(failures, failuresPerDay, dayMs)
      const isSlowed = day.limit - day.remaining >= freeFailures
      if (isSlowed) {
        const minute = await windows.take(pause, 1, minuteMs)
        if (!minute.allowed) {
          await withoutDay()
          return { allowed: false, retryAfterSeconds: toRetrySeconds(minute.resetMs) }
        }
      }
      return {
        allowed: true,
        succeed: () => forgive(subject),
        async withdraw() {
          await withoutDay()
          if (isSlowed) await windows.giveBack(pause, 1, minuteMs)
        },
      }
    },
  }
}

/** @param sign keyed, so that an attacker cannot compute which addresses share a counter. */
function nameOf(subject: Subject, sign: (text: string) => Buffer): string {
  switch (subject.kind) {
    case 'account':
    case 'code':
    case 'passkey':
      return subject.userId
    case 'browser':
      return `${subject.userId}:${subject.browser}`
    default: {
      const digest = sign(`stranger:${toKey(subject.email)}`)
      return `${digest.readUInt32BE() % strangerSlots}`
    }
  }
}

const unlimited: Attempt = { allowed: true, async succeed() {}, async withdraw() {} }

/**
 * Attempts on one e-mail address are counted together, whatever its spelling (compared as the store does).
 */
function toKey(email: string): string {
  return comparableEmails(email)[0].slice(0, maxEmailLength)
}
