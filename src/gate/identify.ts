/**
 * From an Authorization header to its caller. A positive look-up is trusted for at most a second and dropped at once
 * when the user's rows change (reading R27). Nothing negative is remembered. Digests are kept, raw tokens are not, but
 * for one: the header of a busy connection is remembered beside that connection, and goes with it (architecture, the
 * reading river), which saves a digest per request.
 */
import { LRUCache } from 'lru-cache'
import { type Caller, defaultTimezone } from '#auth/caller.ts'
import { hashKey, isKeyShaped } from '#auth/keys.ts'
import { allScopes } from '#auth/scopes.ts'
import { apiError } from '#contract/errors.ts'
import type { KeyId } from '#kernel/ids.ts'
import type { Clock } from '#kernel/time.ts'
import type { Maybe } from '#store/kv-port.ts'
import type { CallerRow, Store } from '#store/port.ts'
import { readBearer } from './bearer.ts'

const trustMs = 1000
const touchEveryMs = 60_000
const maxRemembered = 10_000

interface Known {
  readonly caller: Caller
  readonly keyId: KeyId
  readonly expiresAt: number | null
  readonly checkedAt: number
  /** When its use is to be written down again. */
  touchAt: number
  /** Its rows changed, or something newer is known. */
  dropped: boolean
}

export interface Identify {
  /**
   * The caller of a request. `connection` is the object that stands for the client's connection, null where there is
   * none to remember by. Throws `missing_authorization`, or `invalid_token` for a key that is unknown, revoked, expired
   * or no key at all.
   */
  caller(authorization: string | undefined, connection: object | null): Maybe<Caller>
  close(): void
}

interface Remembered {
  readonly header: string
  readonly digest: string
  entry: Known
}

export interface IdentifyOptions {
  readonly store: Store
  readonly clock: Clock
  /** A background write failed: logged and counted, the request goes on. */
  readonly onBackgroundFailure: (task: string, error: unknown) => void
}

export function makeIdentify(options: IdentifyOptions): Identify {
  const { store, clock } = options
  const known = new LRUCache<string, Known>({
    max: maxRemembered,
    dispose(entry) {
      entry.dropped = true
    },
  })
  const connections = new WeakMap<object, Remembered>()
  const touched = new LRUCache<KeyId, number>({ max: maxRemembered })
  // Counts changes, so that a look-up that began before one is not remembered after it.
  let changes = 0
  const unsubscribe = store.onChange((change) => {
    changes += 1
    for (const [digest, entry] of known.entries()) {
      if (change.userId === null || entry.caller.userId === change.userId) known.delete(digest)
    }
  })

  async function look(digest: string, hash: Uint8Array): Promise<Known> {
    const before = changes
    const row = await store.keys.findCaller(hash)
    if (row === null) throw apiError('invalid_token')
    const entry: Known = {
      caller: toCaller(row),
      keyId: row.keyId,
      expiresAt: row.expiresAt,
      checkedAt: clock.now(),
      touchAt: (touched.get(row.keyId) ?? Number.NEGATIVE_INFINITY) + touchEveryMs,
      dropped: false,
    }
    if (changes === before) known.set(digest, entry)
    else entry.dropped = true
    return entry
  }

  function touch(entry: Known, now: number): void {
    const { keyId } = entry
    entry.touchAt = now + touchEveryMs
    touched.set(keyId, now)
    store.keys.touch(keyId, now).catch((error: unknown) => {
      options.onBackgroundFailure('key-last-used', error)
    })
  }

  /** What is known of a digest and may still be trusted; null when it has to be looked up. */
  function trusted(digest: string, now: number): Known | null {
    const entry = known.get(digest)
    return entry !== undefined && isTrusted(entry, now) ? entry : null
  }

  function accept(entry: Known, now: number): Caller {
    if (entry.expiresAt !== null && entry.expiresAt <= now) throw apiError('invalid_token')
    if (now >= entry.touchAt) touch(entry, now)
    return entry.caller
  }

  async function identify(authorization: string | undefined, connection: object | null) {
    const bearer = readBearer(authorization)
    if (bearer.kind === 'missing') throw apiError('missing_authorization')
    if (bearer.kind === 'malformed' || !isKeyShaped(bearer.token)) throw apiError('invalid_token')
    const hash = hashKey(bearer.token)
    const digest = Buffer.from(hash).toString('latin1')
    const now = clock.now()
    const entry = trusted(digest, now) ?? (await look(digest, hash))
    const caller = accept(entry, now)
    if (connection !== null && authorization !== undefined) {
      connections.set(connection, { header: authorization, digest, entry })
    }
    return caller
  }

  return {
    caller(authorization, connection) {
      const memory = connection === null ? undefined : connections.get(connection)
      if (memory !== undefined && memory.header === authorization) {
        const now = clock.now()
        const entry = isTrusted(memory.entry, now) ? memory.entry : trusted(memory.digest, now)
        if (entry !== null) {
          memory.entry = entry
          return accept(entry, now)
        }
      }
      return identify(authorization, connection)
    },
    close: unsubscribe,
  }
}

/** A clock that was set back makes an age negative: then it is looked up too. */
function isTrusted(entry: Known, now: number): boolean {
  const age = now - entry.checkedAt
  return !entry.dropped && age >= 0 && age < trustMs
}

function toCaller(row: CallerRow): Caller {
  return {
    userId: row.userId,
    bucketId: row.keyId,
    timezone: row.timezone ?? defaultTimezone,
    plan: {
      plan: row.plan,
      status: row.status,
      legacyUntil: row.legacyUntil,
      grandfathered: row.grandfathered,
    },
    scopes: allScopes,
    epoch: row.epoch,
  }
}
