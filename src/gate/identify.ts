/**
 * Finds the caller of a credential. A positive lookup is trusted for at most a second from its beginning, and
 * dropped at once when the user's rows change (reading R27) or fast state doubts it (reading R10). Negative
 * results are not cached. The cache holds digests, not raw tokens.
 */

import { LRUCache } from 'lru-cache'
import { type Caller, toCaller } from '#auth/caller.ts'
import { hasKeyExpired, isKeyShaped } from '#auth/keys.ts'
import { ApiError, apiError } from '#contract/errors.ts'
import type { Maybe } from '#fast/port.ts'
import { atMost } from '#kernel/at-most.ts'
import type { KeyId } from '#kernel/ids.ts'
import { type IncludesAddress, makeAddressList, parseNetwork } from '#kernel/networks.ts'
import { rowTrustMs } from '#store/ports/changes.ts'
import type { CallerRow, KeyStore } from '#store/ports/keys.ts'
import type { Store } from '#store/ports/store.ts'
import type { Credential } from './credential.ts'
import { makeTouch, type Touch, type TouchOptions } from './touch.ts'

const maxRemembered = 10_000

interface Known {
  readonly caller: Caller
  readonly keyId: KeyId
  readonly expiresAt: number | null
  /** Where its requests may come from (reading R43); null: from anywhere. */
  readonly allowed: IncludesAddress | null
  /** The time when its lookup began. */
  readonly begunAt: number
}

export interface Identify {
  /** The caller of a key that was found good within the last second; null when it has to be looked up. */
  recall(credential: Credential): Caller | null
  /**
   * The caller. Throws `missing_authorization`, or `invalid_token` for a key that is unknown, revoked,
   * expired, malformed, or used from an address that it does not allow.
   */
  find(credential: Credential): Maybe<Caller>
  /**
   * A caller that `find` or `recall` returned, by rows that are read after this edition was seen
   * (`src/fast/port.ts`); null: after this call, for its request alone. Throws `invalid_token` when the key
   * is no longer good.
   */
  renew(caller: Caller, edition: string | null): Promise<Caller>
  close(): void
}

/** The token of a caller, hashed. */
type Token = { readonly [Name in 'hash' | 'digest']: NonNullable<Credential[Name]> }

/** A lookup in progress. */
interface Looking {
  /** The value of `changes` when it began. */
  readonly before: number
  readonly begunAt: number
  readonly edition: string
  readonly found: Promise<Known>
}

export interface IdentifyOptions extends TouchOptions {
  readonly store: Pick<Store, 'onChange'> & {
    readonly keys: Pick<KeyStore, 'findCaller' | 'touch'>
  }
}

/** What one process has cached about keys. */
interface Memory extends Pick<IdentifyOptions, 'store' | 'clock'> {
  /** The key is the digest of the token. */
  readonly known: LRUCache<string, Known>
  readonly tokens: WeakMap<Caller, Token>
  readonly lookups: Map<string, Looking>
  readonly touch: Touch<KeyId>
  /** Counts changes, so that a lookup that began before a change is not cached after it. */
  changes: number
}

export function makeIdentify(options: IdentifyOptions): Identify {
  const memory = makeMemory(options)
  const { clock } = options
  return {
    recall(credential) {
      const now = clock.now()
      const entry = trusted(memory, credential, now)
      return entry === null || hasExpired(entry, now) ? null : accept(memory, entry, now)
    },
    find(credential) {
      const { bearer, hash, digest } = credential
      if (bearer.kind === 'missing') throw apiError('missing_authorization')
      if (bearer.kind === 'malformed' || hash === null || !isKeyShaped(bearer.token)) {
        throw apiError('invalid_token')
      }
      const now = clock.now()
      const entry = trusted(memory, credential, now)
      if (entry !== null) return accept(memory, entry, now)
      const last = memory.known.get(digest)
      if (last !== undefined && isTrusted(last, now)) demandAllowed(last, credential)
      // What was seen before the last lookup was seen before this one too.
      const edition = last?.caller.edition ?? ''
      return lookOnce(memory, { digest, hash }, edition).then((found) => {
        demandAllowed(found, credential)
        return accept(memory, found, clock.now())
      })
    },
    async renew(caller, edition) {
      const token = memory.tokens.get(caller)
      if (token === undefined) throw new Error('renew() needs a caller identified by an API key')
      const found = edition === null ? look(memory, token, null) : lookSince(memory, token, edition)
      return accept(memory, await found, clock.now())
    },
    close: options.store.onChange((change) => {
      memory.changes += 1
      for (const [digest, { caller }] of memory.known.entries()) {
        const isTheirs = change.userId === null || caller.userId === change.userId
        if (isTheirs) memory.known.delete(digest)
      }
    }),
  }
}

function makeMemory(options: IdentifyOptions): Memory {
  return {
    store: options.store,
    clock: options.clock,
    known: new LRUCache<string, Known>(atMost(maxRemembered)),
    tokens: new WeakMap(),
    lookups: new Map(),
    touch: makeTouch('key-last-used', options),
    changes: 0,
  }
}

/**
 * The entry of a key that may still be trusted; null when the key has to be looked up, or is used from an
 * address that it does not allow.
 */
function trusted({ known }: Memory, credential: Credential, now: number): Known | null {
  const entry = known.get(credential.digest)
  return entry !== undefined && isTrusted(entry, now) && isAllowed(entry, credential) ? entry : null
}

class UsedElsewhere extends Error {
  override readonly name = 'UsedElsewhere'
}

/** Whether a key was refused only because of the address that it was used from. */
export function isUsedElsewhere(error: unknown): boolean {
  return error instanceof ApiError && error.cause instanceof UsedElsewhere
}

function isAllowed({ allowed }: Known, { address }: Credential): boolean {
  return allowed === null || allowed(address)
}

/** Reading R43: from another address the key is answered as one that does not exist. */
function demandAllowed(entry: Known, credential: Credential): void {
  if (isAllowed(entry, credential)) return
  const cause = new UsedElsewhere('the key does not allow the address of the request')
  throw apiError('invalid_token', { cause })
}

function accept(memory: Memory, entry: Known, now: number): Caller {
  if (hasExpired(entry, now)) throw apiError('invalid_token')
  memory.touch(entry.keyId, (at) => memory.store.keys.touch(entry.keyId, at))
  return entry.caller
}

/** A lookup that began after the edition was seen; another request may have made it already. */
async function lookSince(memory: Memory, token: Token, edition: string): Promise<Known> {
  const entry = memory.known.get(token.digest)
  const isSince = entry?.caller.edition === edition && isTrusted(entry, memory.clock.now())
  return isSince ? entry : lookOnce(memory, token, edition)
}

/** Concurrent requests with one key share its lookup, unless something changed since the lookup began. */
function lookOnce(memory: Memory, token: Token, edition: string): Promise<Known> {
  const { lookups, changes, clock } = memory
  const { digest } = token
  const running = lookups.get(digest)
  const now = clock.now()
  const isRecent = running?.before === changes && isTrusted(running, now)
  if (isRecent && running.edition === edition) return running.found
  const found = look(memory, token, edition)
  const begun: Looking = { before: changes, begunAt: now, edition, found }
  lookups.set(digest, begun)
  const end = () => {
    if (lookups.get(digest) === begun) lookups.delete(digest)
  }
  begun.found.then(end, end)
  return begun.found
}

/** `edition` null: the rows are for one request, and not remembered. */
async function look(memory: Memory, token: Token, edition: string | null): Promise<Known> {
  const before = memory.changes
  const begunAt = memory.clock.now()
  const row = await memory.store.keys.findCaller(token.hash)
  if (row === null) throw apiError('invalid_token')
  const caller = toCaller(row, { bucketId: row.keyId, limits: row.limits })
  const entry: Known = {
    caller: edition === null ? caller : { ...caller, edition },
    keyId: row.keyId,
    expiresAt: row.expiresAt,
    allowed: toAllowed(row),
    begunAt,
  }
  memory.tokens.set(entry.caller, token)
  if (edition !== null && memory.changes === before) memory.known.set(token.digest, entry)
  return entry
}

function hasExpired(entry: Known, now: number): boolean {
  return hasKeyExpired(entry.expiresAt, now)
}

/** When the clock was set back, the age is negative: then the key is looked up too. */
function isTrusted({ begunAt }: Pick<Known, 'begunAt'>, now: number): boolean {
  const age = now - begunAt
  return age >= 0 && age < rowTrustMs
}

function toAllowed({ limits }: CallerRow): IncludesAddress | null {
  const addresses = limits?.addresses ?? null
  return addresses && makeAddressList(addresses.flatMap((text) => parseNetwork(text) ?? []))
}
