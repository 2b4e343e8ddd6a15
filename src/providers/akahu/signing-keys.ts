/**
 * Akahu's public keys for webhooks (docs/providers/akahu.md, Webhooks). The id of a key comes from an
 * unverified request, so an attacker may choose it: fetches are limited in number and time, and only a
 * verified webhook proves that a key is in use. Webhooks that name a login of ours, which nobody else can
 * guess, have a limit of their own, so that guesses do not keep out a genuine new key; and each login has a
 * part of it, so that neither does somebody who learnt of one.
 */
import { createPublicKey, type KeyObject } from 'node:crypto'
import { toRetrySeconds } from '#kernel/retry-after.ts'
import { type Clock, dayMs, minuteMs } from '#kernel/time.ts'
import { UpstreamError } from '../failure.ts'
import type { AkahuClient } from './client.ts'
import { malformed } from './failures.ts'

export interface SigningKeys {
  /**
   * The key with this id; null when there is none, and when a newer one is in use.
   * @param findLogin the login of ours that the webhook names; null: it names none. Called only where a guess
   *   is refused.
   * @throws UpstreamError when it cannot be read now.
   */
  find(id: number, findLogin: () => Promise<string | null>): Promise<KeyObject | null>
  /** A signature by this key was verified: older keys are refused from now on. */
  confirm(id: number): void
}

export interface SigningKeysOptions {
  readonly client: Pick<AkahuClient, 'asApp'>
  readonly clock: Clock
  /** Bounds one fetch, in milliseconds; Akahu waits five seconds for the answer to its webhook. */
  readonly timeoutMs?: number
}

const defaultTimeoutMs = 4000
const keyLifeMs = dayMs
/** Keys rotate rarely; more ids than this are guesses. */
const maxFetches = 10
const maxOwnFetches = 30
const maxFetchesOfLogin = 3
const fetchWindowMs = minuteMs
/** The next key may exist soon after somebody guessed its id. */
const briefMs = 5000
/** Keys, and ids that have none, that are remembered. */
const maxRemembered = 32
/** A weaker key is not one of Akahu's. */
const minModulusBits = 2048

interface Known {
  /** Null: there was no such key. */
  readonly key: KeyObject | null
  readonly at: number
  readonly until: number
}

/** The latest fetches, the oldest first. */
type Fetches = { readonly at: number; readonly login: string | null }[]

interface Ring extends SigningKeysOptions {
  readonly known: Map<number, Known>
  readonly running: Map<number, Promise<KeyObject | null>>
  /** For any webhook. */
  readonly fetches: Fetches
  /** For webhooks that name a login of ours, with the login. */
  readonly ownFetches: Fetches
}

export function makeSigningKeys(options: SigningKeysOptions): SigningKeys {
  const ring: Ring = {
    ...options,
    known: new Map(),
    running: new Map(),
    fetches: [],
    ownFetches: [],
  }
  let highest = 0
  return {
    async find(id, findLogin) {
      if (id < highest) return null
      const held = recall(ring, id)
      if (held !== null && isSettled(ring, held)) return held.key
      const isOpen = held === null && secondsToWait(ring, null) === null
      if (isOpen || ring.running.has(id)) return join(ring, id, null)
      const login = await findLogin()
      if (login !== null) {
        const later = recall(ring, id)
        if (later !== null && isSettled(ring, later)) return later.key
        return join(ring, id, login)
      }
      return held === null ? join(ring, id, null) : null
    },
    confirm(id) {
      highest = Math.max(highest, id)
    },
  }
}

function recall({ known, clock }: Ring, id: number): Known | null {
  const held = known.get(id)
  return held !== undefined && isFresh(held, clock.now()) ? held : null
}

/** An end that lies further ahead than a key lives was set before the clock was set back. */
function isFresh({ until }: Known, now: number): boolean {
  return now < until && until - now <= keyLifeMs
}

/** A missing key is certain only for moments. */
function isSettled({ clock }: Ring, { key, at }: Known): boolean {
  return key !== null || Math.abs(clock.now() - at) < briefMs
}

/** The fetch that is running, or one for a webhook that names this login, or none. */
function join(ring: Ring, id: number, login: string | null): Promise<KeyObject | null> {
  const running = ring.running.get(id)
  if (running !== undefined) return running
  const wait = secondsToWait(ring, login)
  if (wait !== null) {
    const detail = 'too many signing keys were asked for'
    throw new UpstreamError('akahu', { kind: 'throttled', retryAfterSeconds: wait, detail })
  }
  fetchesOf(ring, login).push({ at: ring.clock.now(), login })
  const fetching = fetchOnce(ring, id).finally(() => ring.running.delete(id))
  ring.running.set(id, fetching)
  return fetching
}

function fetchesOf(ring: Ring, login: string | null): Fetches {
  return login === null ? ring.fetches : ring.ownFetches
}

async function fetchOnce(ring: Ring, id: number): Promise<KeyObject | null> {
  const at = ring.clock.now()
  const key = await fetchKey(ring, id)
  remember(ring, id, { key, at, until: at + (key === null ? fetchWindowMs : keyLifeMs) })
  return key
}

/** Until another fetch is allowed for a webhook that names this login, or none; null: now. */
function secondsToWait(ring: Ring, login: string | null): number | null {
  const now = ring.clock.now()
  const fetches = fetchesOf(ring, login)
  while (fetches[0] !== undefined && Math.abs(now - fetches[0].at) >= fetchWindowMs) fetches.shift()
  const own = fetches.filter((one) => one.login === login)
  const isTooMany = fetches.length >= (login === null ? maxFetches : maxOwnFetches)
  const isTooManyOfLogin = login !== null && own.length >= maxFetchesOfLogin
  if (!isTooMany && !isTooManyOfLogin) return null
  const oldest = (isTooMany ? fetches : own)[0]?.at ?? now
  return toRetrySeconds(oldest + fetchWindowMs - now)
}

function remember({ known }: Ring, id: number, entry: Known): void {
  known.delete(id)
  // Ids without a key are evicted first, so that guesses never evict a key in use.
  const stale = [...known].find(([, { key }]) => key === null) ?? [...known][0]
  if (known.size >= maxRemembered && stale !== undefined) known.delete(stale[0])
  known.set(id, entry)
}

async function fetchKey(
  { client, timeoutMs = defaultTimeoutMs }: Ring,
  id: number,
): Promise<KeyObject | null> {
  const signal = AbortSignal.timeout(timeoutMs)
  try {
    const request = { method: 'GET', route: '/keys/{id}', target: `/keys/${id}` } as const
    return toKey(await client.asApp(request, { signal, priority: 'user' }))
  } catch (error) {
    if (error instanceof UpstreamError) {
      if (error.failure.kind === 'rejected') return null
      throw error
    }
    if (!signal.aborted) throw error
    const detail = `no signing key within ${timeoutMs} ms`
    throw new UpstreamError('akahu', { kind: 'unavailable', status: null, detail }, error)
  }
}

function toKey(body: Uint8Array): KeyObject {
  let key: KeyObject
  try {
    const parsed: unknown = JSON.parse(Buffer.from(body).toString('utf8'))
    key = createPublicKey(String(Reflect.get(Object(parsed), 'item')))
  } catch (cause) {
    throw malformed('a signing key cannot be read', cause)
  }
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0
  if (key.asymmetricKeyType === 'rsa' && bits >= minModulusBits) return key
  throw malformed('a signing key is no RSA key of at least 2048 bits')
}
