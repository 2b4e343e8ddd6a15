/**
 * Signed-in browsers: 32 random bytes in a cookie, their SHA-256 in the store. A session ends after 14 days
 * without a visit, after 30 days in all, at sign-out, and when its user is deleted. The form token against
 * cross-site posts is derived from the cookie, so that it needs no storage.
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { addressOf, type By, mayActFor } from '#contract/actor.ts'
import { signedIn, signedOut, usedRecoveryCode } from '#contract/audit.ts'
import type { SessionId, UserId } from '#kernel/ids.ts'
import type { Secret } from '#kernel/secret.ts'
import { type Clock, dayMs, minuteMs } from '#kernel/time.ts'
import type { SessionRow } from '#store/ports/sessions.ts'
import type { Store, StoreRows } from '#store/ports/store.ts'
import { isFreshSignIn } from '../fresh-sign-in.ts'
import { consumeCode, type RightCode } from './check-code.ts'
import { makeOwnSessions, type OwnSessions, toAgentText } from './own-sessions.ts'

const idleMs = 14 * dayMs
const absoluteMs = 30 * dayMs
/** The last visit is written at most this often. */
const touchMs = minuteMs

export interface Session {
  readonly id: SessionId
  readonly userId: UserId
  readonly signedInAt: number
  /** The password or a passkey was given within the last ten minutes. */
  readonly isFresh: boolean
}

/** Who proved who they are, and the stored hash of their password: it must not change meanwhile. */
export interface SignInProof {
  readonly userId: UserId
  readonly checked: Secret<string>
  /**
   * The code of the second factor or the answer of a passkey, which the start of the session consumes; null
   * for an account without a second factor.
   */
  readonly code: RightCode | null
}

export interface Started {
  readonly token: string
  readonly session: Session
}

/** What begins or ends a session writes its audit row in the same transaction. */
export interface Sessions extends OwnSessions {
  /**
   * Starts a session after a password or a passkey was checked; the token goes into the cookie and nowhere
   * else. `replaced`: the session that the browser had until now. It ends, with an entry of its own where
   * it was another user's; the same user's new session gets the links that it began. `agent`: what the
   * browser calls itself. Null when the password or the second factor was changed after the check, or the
   * code was used meanwhile: then nobody is signed in, and nothing has changed.
   */
  start(
    by: By,
    proof: SignInProof,
    replaced: Session | null,
    agent?: string | null,
  ): Promise<Started | null>
  /** The session of a cookie; null when it is unknown or has ended. */
  find(token: string | null): Promise<Session | null>
  /** Signs out of this browser. Only its own user can end a session; one that has ended leaves no entry. */
  end(by: By, session: Session): Promise<void>
  /** Deletes ended sessions, a bounded number per call; returns how many. */
  sweep(): Promise<number>
}

export function makeSessions({ store, clock }: { store: Store; clock: Clock }): Sessions {
  function toSession(row: SessionRow): Session {
    return {
      id: row.id,
      userId: row.userId,
      signedInAt: row.signedInAt,
      isFresh: isFreshSignIn(row.signedInAt, clock.now()),
    }
  }

  return {
    ...makeOwnSessions({ store, clock }, (row) => !hasEnded(row, clock.now())),
    async start(by, { userId, checked, code }, replaced, agent = null) {
      const token = newToken()
      const given = {
        userId,
        hash: toTokenDigest(token),
        at: clock.now(),
        passwordHash: checked.reveal(),
        address: addressOf(by.actor),
        agent: toAgentText(agent),
      }
      const row = await store
        .transact((tx) => begin(tx, by, { given, code, replaced }))
        .catch((error: unknown) => {
          if (error instanceof NotStartedError) return null
          throw error
        })
      return row === null ? null : { token, session: toSession(row) }
    },
    async find(token) {
      if (token === null || !isToken(token)) return null
      const row = await store.sessions.find(toTokenDigest(token))
      if (row === null || hasEnded(row, clock.now())) return null
      if (clock.now() - row.lastSeenAt >= touchMs) await store.sessions.touch(row.id, clock.now())
      return toSession(row)
    },
    async end(by, session) {
      const { userId, id } = session
      if (!mayActFor(by, userId)) return
      await store.transact(async (tx) => {
        if (await tx.sessions.delete(userId, id)) {
          await note(tx, by, { action: signedOut, userId, at: clock.now() })
        }
      })
    },
    sweep() {
      const now = clock.now()
      return store.sessions.sweep({ seenBefore: now - idleMs, createdBefore: now - absoluteMs })
    },
  }
}

interface Beginning {
  readonly given: Parameters<Store['sessions']['create']>[0]
  readonly code: RightCode | null
  readonly replaced: Session | null
}

function note(
  tx: StoreRows,
  { actor }: By,
  about: {
    readonly action: typeof signedOut | typeof usedRecoveryCode
    readonly userId: UserId
    readonly at: number
  },
): Promise<void> {
  return tx.audit({ actor, details: {}, ...about })
}

/** @throws NotStartedError */
async function begin(tx: StoreRows, by: By, { given, code, replaced }: Beginning) {
  const { userId, at } = given
  const hadOne = replaced !== null && (await tx.sessions.delete(replaced.userId, replaced.id))
  const isOthers = replaced !== null && replaced.userId !== userId
  if (hadOne && isOthers) {
    await note(tx, by, { action: signedOut, userId: replaced.userId, at })
  }
  const made = await tx.sessions.create(given)
  if (made === null || !(await hasSecondProof(tx, given, code))) throw new NotStartedError()
  const details = code?.kind === 'passkey' ? { passkey: true } : {}
  await tx.audit({ actor: by.actor, at, action: signedIn, userId, details })
  if (code?.kind === 'recovery') {
    await note(tx, by, { action: usedRecoveryCode, userId, at })
  }
  if (hadOne && !isOthers) await tx.linkings.moveSession(userId, replaced.id, made.id)
  return made
}

/** Undoes the transaction of a start that is refused. */
class NotStartedError extends Error {
  override readonly name = 'NotStartedError'
}

/**
 * Whether the second factor allows the session: its code was not used yet, or there is none. The user's row
 * is locked, so that a factor that is added at the same time either asks for its code or comes after the
 * sign-in.
 */
async function hasSecondProof(
  tx: StoreRows,
  { userId, at }: Beginning['given'],
  code: RightCode | null,
): Promise<boolean> {
  if (code === null) return !(await tx.secondFactors.has(userId))
  return consumeCode(tx, userId, code, at)
}

function hasEnded(row: SessionRow, now: number): boolean {
  return now - row.lastSeenAt >= idleMs || now - row.createdAt >= absoluteMs
}

/** 32 random bytes as 43 characters. */
export function newToken(): string {
  return randomBytes(32).toString('base64url')
}

/** The shape of `newToken`: anything else is refused without a lookup. */
export function isToken(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text)
}

/**
 * The hidden field of every form: it cannot be computed without the cookie. In the forms of a signed-in
 * person it also says whose form it is (`ownerOfForm`): what was typed is shown to that person alone.
 */
export function formTokenOf(cookie: string, userId: UserId | null = null): string {
  const token = hash('sha256', `form:${cookie}`, 'base64url')
  return userId === null ? token : `${token}.${toOwner(userId)}`
}

export function isFormToken(given: string, cookie: string): boolean {
  const wanted = Buffer.from(formTokenOf(cookie))
  const [token = '', , ...surplus] = given.split('.')
  const found = Buffer.from(token)
  return surplus.length === 0 && found.length === wanted.length && timingSafeEqual(found, wanted)
}

/** Whose form sent this token, in the words of the form itself; null: a visitor's. It proves nothing. */
export function ownerOfForm(token: string): string | null {
  return token.split('.')[1] ?? null
}

export function isFormOwner(owner: string, userId: UserId): boolean {
  return owner === toOwner(userId)
}

function toOwner(userId: UserId): string {
  return hash('sha256', `form-owner:${userId}`, 'base64url')
}

/** What the store keeps of a token. */
export function toTokenDigest(token: string): Uint8Array {
  return hash('sha256', token, 'buffer')
}
