/**
 * Requests in flight, shared through Redis: a sorted set of leases by their expiry, by the server's clock. A
 * lease lives ten seconds and is renewed every three seconds while it is held, so that the leases of a
 * crashed process expire. A release that Redis did not receive is kept and sent when Redis is available
 * again.
 */

import { randomBytes } from 'node:crypto'
import { hourMs } from '#kernel/time.ts'
import { type Acquired, freeLease, leasesTaken, type MemoryLeases } from './memory-leases.ts'
import type { Lease, LeaseStore } from './port.ts'
import type { RedisLink } from './redis-link.ts'
import type { Seal } from './redis-seal.ts'

export interface LeaseTiming {
  /** A lease that is not renewed for this long expires. */
  readonly leaseMs: number
  readonly renewEveryMs: number
}

export const leaseTiming: LeaseTiming = { leaseMs: 10_000, renewEveryMs: 3000 }

/** A place that Redis is asked for, and then one that is held. */
export interface Wanted {
  readonly name: string
  readonly id: string
}

export interface RedisLeases extends LeaseStore {
  readonly leaseMs: number
  /** The name and a new id for a place that another script takes. */
  want(key: string): Wanted
  /** The script took the place: it is renewed until it is released. */
  hold(wanted: Wanted): Lease
  /** The script's answer was lost: if it took the place, it is given back. */
  giveBack(wanted: Wanted): void
  /** While Redis is unavailable. */
  acquireHere(key: string, limit: number): Acquired
  /** Whether `acquireHere` would refuse. */
  isFullHere(key: string, limit: number): boolean
  /** Stops the renewals and releases everything that this process still holds. */
  close(): Promise<void>
}

const nowLua = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`

/**
 * Removes places that have expired at `now`, and those that expire later than their life allows: they were
 * taken before the clock of Redis was set back. `key` and `life`: Lua expressions.
 */
export const removeEndedLua = (key: string, life: string) => `
redis.call('ZREMRANGEBYSCORE', ${key}, '-inf', now)
redis.call('ZREMRANGEBYSCORE', ${key}, '(' .. (now + ${life}), '+inf')
`

const acquireLua = `${nowLua}
${removeEndedLua('KEYS[1]', 'ARGV[3]')}
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
`

// ZADD also adds a missing lease, so that requests in flight are counted again after a restart of Redis.
const renewLua = `${nowLua}
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
`

// The longest REQUEST_TIMEOUT_MS; after it, a lease that was never released is no longer renewed.
const longestMs = hourMs
// Releases waiting for Redis; beyond this number the oldest is dropped, and its lease expires.
const maxOwed = 10_000

interface Held extends Wanted {
  readonly since: number
  /** Its position among those that are held; -1: it is not held. */
  at: number
}

interface RedisLeasesOptions {
  readonly link: RedisLink
  readonly seal: Seal
  readonly local: MemoryLeases
  readonly timing: LeaseTiming
}

/** Shared leases; `local` counts while Redis is unavailable, and a lease acquired there is released there. */
export function makeRedisLeases(options: RedisLeasesOptions): RedisLeases {
  const { link, seal, local, timing } = options
  const acquire = link.script(acquireLua)
  const renew = link.script(renewLua)
  const held = makeHeld()
  const ids = makeIds()
  const { owed, remove, payOwed } = makeRemovals(link, timing)
  link.onEnter(payOwed)

  // Leases that this process acquired before Redis became unavailable count too.
  const leftHere = (key: string, limit: number) => limit - held.count(seal.name('lease', key))
  const shared: Omit<RedisLeases, 'leaseMs' | 'acquire' | 'close'> = {
    want: (key) => ({ name: seal.name('lease', key), id: ids() }),
    hold(wanted) {
      const lease = held.add(wanted)
      return { release: () => (held.remove(lease) ? remove(lease, true) : undefined) }
    },
    giveBack: (wanted) => void remove(wanted, false),
    acquireHere(key, limit) {
      const left = leftHere(key, limit)
      return left > 0 ? local.acquire(key, left) : leasesTaken
    },
    isFullHere(key, limit) {
      const left = leftHere(key, limit)
      return left <= 0 || local.isFull(key, left)
    },
  }

  const renewer = setInterval(() => {
    if (link.isUp()) payOwed()
    for (const lease of held.list()) {
      if (performance.now() - lease.since > longestMs) held.remove(lease)
      else void link.run('leases', () => renew(lease.name, lease.id, timing.leaseMs), nothing)
    }
  }, timing.renewEveryMs)
  renewer.unref()

  return {
    ...shared,
    leaseMs: timing.leaseMs,
    acquire(key, limit) {
      if (limit === 0) return freeLease
      const wanted = shared.want(key)
      const take = async (): Promise<Acquired> => {
        try {
          const granted = await acquire(wanted.name, wanted.id, limit, timing.leaseMs)
          return granted === 1 ? { lease: shared.hold(wanted) } : leasesTaken
        } catch (cause) {
          // Redis may have granted it after our timeout, so it is released, or expires.
          shared.giveBack(wanted)
          throw cause
        }
      }
      return link.run('leases', take, () => shared.acquireHere(key, limit))
    },

    async close() {
      clearInterval(renewer)
      const rest = held.list()
      for (const lease of rest) held.remove(lease)
      const all = [...rest, ...owed.list().map(({ lease }) => lease)]
      await Promise.all(all.map((lease) => remove(lease, true)))
    },
  }
}

/** Gives places back to Redis, now or when it is available again. */
function makeRemovals(link: RedisLink, { leaseMs }: LeaseTiming) {
  const owed = makeOwed(leaseMs)
  /** `isCertain` false: perhaps Redis has yet to take the place that is removed here. */
  const remove = (lease: Wanted, isCertain: boolean) =>
    link.run(
      'leases',
      async () => {
        const removed = await link.client.zrem(lease.name, lease.id)
        if (isCertain || removed === 1) owed.settle(lease)
        else owed.add(lease, false)
      },
      () => owed.add(lease, isCertain),
    )
  function payOwed(): void {
    for (const { lease, isCertain } of owed.list()) void remove(lease, isCertain)
  }
  return { owed, remove, payOwed }
}

/** Ids that no other process has: a random part of this process, and a number. */
function makeIds(): () => string {
  const process = randomBytes(12).toString('base64url')
  let count = 0
  return () => {
    count += 1
    return process + count
  }
}

/**
 * The places that this process holds, in a list in which a place that is given back is replaced by the last
 * one: a set with an addition and a removal for each request would cost the garbage collector too much.
 */
function makeHeld() {
  const places: Held[] = []
  return {
    add({ name, id }: Wanted): Held {
      const lease: Held = { name, id, since: performance.now(), at: places.length }
      places.push(lease)
      return lease
    },
    /** False when it is not held any more. */
    remove(lease: Held): boolean {
      if (lease.at === -1) return false
      const last = places.pop()
      if (last !== undefined && last !== lease) {
        last.at = lease.at
        places[last.at] = last
      }
      lease.at = -1
      return true
    },
    count: (wanted: string): number =>
      places.reduce((sum, { name }) => (name === wanted ? sum + 1 : sum), 0),
    /** A copy, since the caller may remove some. */
    list: (): readonly Held[] => [...places],
  }
}

/** A place that may still be taken in Redis. */
interface Owed {
  readonly lease: Wanted
  /** False: an answer was lost, and the place may be taken later than it is removed. */
  readonly isCertain: boolean
  readonly until: number
}

/** Released leases that may still exist in Redis, where they expire after `leaseMs` at the latest. */
function makeOwed(leaseMs: number) {
  const leases = new Map<string, Owed>()
  return {
    add(lease: Wanted, isCertain: boolean): void {
      const until = leases.get(lease.id)?.until ?? performance.now() + leaseMs
      leases.delete(lease.id)
      leases.set(lease.id, { lease, isCertain, until })
      const oldest = leases.size > maxOwed ? leases.keys().next() : null
      if (oldest?.done === false) leases.delete(oldest.value)
    },
    settle: (lease: Wanted): void => void leases.delete(lease.id),
    /** Those that have not expired yet; expired ones are dropped. */
    list(): readonly Owed[] {
      const now = performance.now()
      for (const [id, { until }] of leases) if (until <= now) leases.delete(id)
      return [...leases.values()]
    },
  }
}

function nothing(): void {}
