/**
 * Links that are valid once: 32 random bytes in the path of a page, their SHA-256 in the store. A page that a
 * link opens shows a form; only the form uses the link up, so that programs that open the links of mails cost
 * nothing. Where there is no mail server, the link is a line of the log.
 */
import { hash } from 'node:crypto'
import type { UserId } from '#kernel/ids.ts'
import { type Clock, dayMs, hourMs, type Millis } from '#kernel/time.ts'
import type { SingleUseKind, SingleUseRow } from '#store/ports/single-use.ts'
import type { Store, StoreRows } from '#store/ports/store.ts'
import { isToken, newToken } from './sessions.ts'

/** What a page can say about a link that no longer works. */
export type VoidReason = 'unknown' | 'used' | 'replaced' | 'expired'

export type FoundToken =
  | { readonly kind: 'valid'; readonly row: SingleUseRow }
  | { readonly kind: 'void'; readonly why: VoidReason }

/** A link that was made. */
export interface MadeUrl {
  readonly url: string
  readonly expiresAt: Millis
}

/** Prints the line of a link that is not mailed. */
export type PrintUrl = (
  made: MadeUrl & { readonly kind: SingleUseKind; readonly email: string },
) => void

export interface SingleUseOptions {
  readonly store: Pick<Store, 'transact' | 'singleUse' | 'users'>
  readonly clock: Clock
  /** The public origin of the pages, without a trailing slash. */
  readonly origin: () => string
  /** Null: links are mailed. */
  readonly print: PrintUrl | null
}

/** A list has at most this many open invitations: the newest ones. */
export const invitationsListed = 1000

const rules = {
  invitation: { path: '/invitations', lifeMs: 7 * dayMs, windowMs: dayMs, limit: 20 },
  confirmation: { path: '/confirm-address', lifeMs: 7 * dayMs, windowMs: hourMs, limit: 5 },
  reset: { path: '/reset-password', lifeMs: hourMs, windowMs: hourMs, limit: 5 },
} as const

interface Addressee {
  /** Null: an invitation. */
  readonly userId: UserId | null
  readonly email: string
}

/** Stores a link and queues its mail; null: the address had too many. Without mail, the caller prints it. */
export async function makeUrl(
  { clock, origin }: Pick<SingleUseOptions, 'clock' | 'origin'>,
  tx: Pick<StoreRows, 'singleUse' | 'mails'>,
  kind: SingleUseKind,
  { userId, email }: Addressee,
): Promise<MadeUrl | null> {
  const { path, lifeMs, windowMs, limit } = rules[kind]
  const at = clock.now()
  const token = newToken()
  const id = digest(token)
  const expiresAt = at + lifeMs
  const row = { kind, hash: id, userId, email, createdAt: at, expiresAt }
  if (!(await tx.singleUse.create(row, { since: at - windowMs, limit }))) return null
  const url = `${origin()}${path}/${token}`
  const matter = { kind, email, url, expiresAt }
  await tx.mails.queue({ key: `${kind}:${Buffer.from(id).toString('hex')}`, userId, matter, at })
  return { url, expiresAt }
}

/** Uses a link up inside a transaction; null: it is void. */
export function useToken(
  { clock }: Pick<SingleUseOptions, 'clock'>,
  tx: Pick<StoreRows, 'singleUse'>,
  kind: SingleUseKind,
  token: string,
): Promise<SingleUseRow | null> {
  return tx.singleUse.use(kind, digest(token), clock.now())
}

/** Looks at a link and changes nothing. */
export async function findToken(
  { store, clock }: Pick<SingleUseOptions, 'store' | 'clock'>,
  kind: SingleUseKind,
  token: string,
): Promise<FoundToken> {
  const row = isToken(token) ? await store.singleUse.find(kind, digest(token)) : null
  if (row === null) return { kind: 'void', why: 'unknown' }
  if (row.usedAt !== null) return { kind: 'void', why: 'used' }
  if (row.replacedAt !== null) return { kind: 'void', why: 'replaced' }
  return row.expiresAt <= clock.now() ? { kind: 'void', why: 'expired' } : { kind: 'valid', row }
}

/** Sends the first link of a confirmation, in the transaction that makes the account. */
export type BeginConfirmation = (
  tx: Pick<StoreRows, 'singleUse' | 'mails'>,
  user: { readonly id: UserId; readonly email: string },
) => Promise<void>

/** Nothing is to be confirmed where no mail is sent. */
export function makeBeginConfirmation(
  options: Pick<SingleUseOptions, 'clock' | 'origin' | 'print'>,
): BeginConfirmation {
  return async (tx, { id, email }) => {
    if (options.print === null) await makeUrl(options, tx, 'confirmation', { userId: id, email })
  }
}

function digest(token: string): Uint8Array {
  return hash('sha256', token, 'buffer')
}
