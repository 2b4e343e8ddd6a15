/**
 * From a bearer token to its caller. A positive look-up is trusted for at most a second and dropped at once when the
 * user's rows change (reading R27); nothing negative is remembered, and no raw token is kept: only digests.
 */
import { LRUCache } from 'lru-cache'
import { type Caller, defaultTimezone } from '#auth/caller.ts'
import { hashKey, isKeyShaped } from '#auth/keys.ts'
import { apiError } from '#contract/errors.ts'
import type { KeyId } from '#kernel/ids.ts'
import type { Clock } from '#kernel/time.ts'
import type { CallerRow, Store } from '#store/port.ts'

const trustMs = 1000
const touchEveryMs = 60_000
const maxRemembered = 10_000

interface Known {
  readonly caller: Caller
  readonly keyId: KeyId
  readonly expiresAt: number | null
  readonly checkedAt: number
}

export interface Identify {
  /** Throws `invalid_token` for a key that is unknown, revoked, expired or no key at all. */
  caller(token: string): Promise<Caller>
  close(): void
}

export interface IdentifyOptions {
  readonly store: Store
  readonly clock: Clock
  /** A background write failed: logged and counted, the request goes on. */
  readonly onBackgroundFailure: (task: string, error: unknown) => void
}

export function makeIdentify(options: IdentifyOptions): Identify {
  const { store, clock } = options
  const known = new LRUCache<string, Known>({ max: maxRemembered })
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
    }
    if (changes === before) known.set(digest, entry)
    return entry
  }

  function touch(keyId: KeyId, now: number): void {
    if (now - (touched.get(keyId) ?? 0) < touchEveryMs) return
    touched.set(keyId, now)
    store.keys.touch(keyId, now).catch((error: unknown) => {
      options.onBackgroundFailure('key-last-used', error)
    })
  }

  return {
    async caller(token) {
      if (!isKeyShaped(token)) throw apiError('invalid_token')
      const hash = hashKey(token)
      const digest = Buffer.from(hash).toString('latin1')
      const now = clock.now()
      const remembered = known.get(digest)
      const age = remembered === undefined ? trustMs : now - remembered.checkedAt
      // A clock that was set back makes an age negative: then it is looked up too.
      const entry =
        remembered !== undefined && age >= 0 && age < trustMs
          ? remembered
          : await look(digest, hash)
      if (entry.expiresAt !== null && entry.expiresAt <= now) throw apiError('invalid_token')
      touch(entry.keyId, now)
      return entry.caller
    },
    close: unsubscribe,
  }
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
    epoch: row.epoch,
  }
}
