/**
 * Browsers in which somebody is signed in: 32 random bytes in a cookie, their SHA-256 in the store. A session ends after
 * 14 days without a visit, 30 days in all, at sign-out, and with its user. The form token against cross-site posts is
 * derived from the cookie, so that nothing more has to be kept.
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { SessionId, UserId } from '#kernel/ids.ts'
import type { Clock } from '#kernel/time.ts'
import type { Store } from '#store/port.ts'
import type { SessionRow } from '#store/session-port.ts'

const day = 86_400_000
const idleMs = 14 * day
const absoluteMs = 30 * day
/** What must not be done with a borrowed browser needs a password given within this time. */
const freshMs = 10 * 60_000
/** A visit is written down at most this often. */
const touchMs = 60_000

export interface Session {
  readonly id: SessionId
  readonly userId: UserId
  readonly signedInAt: number
  /** The password was given within the last ten minutes. */
  readonly isFresh: boolean
}

export interface Sessions {
  /** A new session; the token goes into the cookie and nowhere else. */
  start(userId: UserId): Promise<{ readonly token: string; readonly session: Session }>
  /** The session of a cookie; null when it is unknown or has ended. */
  find(token: string | null): Promise<Session | null>
  end(session: Session): Promise<void>
  /** Deletes ended ones, a bounded number at once; tells how many. */
  sweep(): Promise<number>
}

export function makeSessions({ store, clock }: { store: Store; clock: Clock }): Sessions {
  function toSession(row: SessionRow): Session {
    const age = clock.now() - row.signedInAt
    return {
      id: row.id,
      userId: row.userId,
      signedInAt: row.signedInAt,
      isFresh: age >= 0 && age < freshMs,
    }
  }

  function hasEnded(row: SessionRow): boolean {
    const now = clock.now()
    return now - row.lastSeenAt >= idleMs || now - row.createdAt >= absoluteMs
  }

  return {
    async start(userId) {
      const token = newToken()
      const row = await store.sessions.create({ userId, hash: digest(token), at: clock.now() })
      return { token, session: toSession(row) }
    },
    async find(token) {
      if (token === null || !isToken(token)) return null
      const row = await store.sessions.find(digest(token))
      if (row === null || hasEnded(row)) return null
      if (clock.now() - row.lastSeenAt >= touchMs) await store.sessions.touch(row.id, clock.now())
      return toSession(row)
    },
    async end(session) {
      await store.sessions.delete(session.userId, session.id)
    },
    sweep() {
      const now = clock.now()
      return store.sessions.sweep({ seenBefore: now - idleMs, createdBefore: now - absoluteMs })
    },
  }
}

/** 32 random bytes as 43 characters. */
export function newToken(): string {
  return randomBytes(32).toString('base64url')
}

/** The shape of `newToken`: anything else is not even looked up. */
export function isToken(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text)
}

/** The hidden field of every form: who does not hold the cookie cannot make it. */
export function formTokenOf(cookie: string): string {
  return hash('sha256', `form:${cookie}`, 'base64url')
}

/** Compared in constant time. */
export function isFormToken(given: string, cookie: string): boolean {
  const wanted = Buffer.from(formTokenOf(cookie))
  const found = Buffer.from(given)
  return found.length === wanted.length && timingSafeEqual(found, wanted)
}

function digest(token: string): Uint8Array {
  return hash('sha256', token, 'buffer')
}
