/**
 * Requests in flight, shared through Redis: a sorted set of leases by their expiry, by the server's clock. A lease
 * lives ten seconds and is renewed every three seconds while it is held, so that the leases of a crashed process
 * expire. A release that Redis did not receive is kept and sent when Redis is available again.
 */
import { randomUUID } from 'node:crypto'
import type { LeaseStore } from '../ports/kv.ts'
import { type Acquired, freeLease, leasesTaken, type MemoryLeases } from './memory-leases.ts'
import type { RedisLink } from './redis-link.ts'
import type { Seal } from './redis-seal.ts'

export interface LeaseTiming {
  /** A lease that is not renewed for this long expires. */
  readonly leaseMs: number
  readonly renewEveryMs: number
}

export const leaseTiming: LeaseTiming = { leaseMs: 10_000, renewEveryMs: 3000 }

export interface RedisLeases extends LeaseStore {
  /** Stops the renewals and releases everything that this process still holds. */
  close(): Promise<void>
}

const nowLua = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`

const acquireLua = `${nowLua}
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
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

// The longest request that can be configured (REQUEST_TIMEOUT_MS); after it, a lease that was never released is no
// longer renewed.
const longestMs = 3_600_000
// Releases waiting for Redis; beyond this number the oldest is dropped, and its lease expires.
const maxOwed = 10_000

interface Held {
  readonly name: string
  readonly id: string
  readonly since: number
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
  const acquire = link.script('tributaryLeaseAcquire', acquireLua)
  const renew = link.script('tributaryLeaseRenew', renewLua)
  const held = new Set<Held>()
  const owed = makeOwed(timing.leaseMs)

  const remove = (lease: Held) =>
    link.run(
      'leases',
      async () => {
        await link.client.zrem(lease.name, lease.id)
        owed.settle(lease)
      },
      () => owed.add(lease),
    )
  const payOwed = () => {
    for (const lease of owed.list()) void remove(lease)
  }
  link.onEnter(payOwed)

  async function take(lease: Held, limit: number): Promise<Acquired> {
    try {
      const granted = await acquire(lease.name, lease.id, limit, timing.leaseMs)
      if (granted !== 1) return leasesTaken
    } catch (cause) {
      // Redis may have granted it after our timeout, so it is released, or expires.
      void remove(lease)
      throw cause
    }
    held.add(lease)
    return { lease: { release: () => (held.delete(lease) ? remove(lease) : undefined) } }
  }

  const renewer = setInterval(() => {
    if (link.isUp()) payOwed()
    for (const lease of held) {
      if (performance.now() - lease.since > longestMs) held.delete(lease)
      else void link.run('leases', () => renew(lease.name, lease.id, timing.leaseMs), nothing)
    }
  }, timing.renewEveryMs)
  renewer.unref()

  return {
    acquire(key, limit) {
      if (limit === 0) return freeLease
      const lease = { name: seal.name('lease', key), id: randomUUID(), since: performance.now() }
      return link.run(
        'leases',
        () => take(lease, limit),
        () => {
          // Leases that this process acquired before Redis became unavailable count too.
          const left = limit - [...held].filter(({ name }) => name === lease.name).length
          return left > 0 ? local.acquire(key, left) : leasesTaken
        },
      )
    },

    async close() {
      clearInterval(renewer)
      const rest = [...held]
      held.clear()
      await Promise.all([...rest, ...owed.list()].map(remove))
    },
  }
}

/** Released leases that may still exist in Redis, where they expire after `leaseMs` at the latest. */
function makeOwed(leaseMs: number) {
  const leases = new Map<string, { readonly lease: Held; readonly until: number }>()
  return {
    add(lease: Held): void {
      leases.delete(lease.id)
      leases.set(lease.id, { lease, until: performance.now() + leaseMs })
      const oldest = leases.size > maxOwed ? leases.keys().next() : null
      if (oldest?.done === false) leases.delete(oldest.value)
    },
    settle: (lease: Held): void => void leases.delete(lease.id),
    /** Those that have not expired yet; expired ones are dropped. */
    list(): readonly Held[] {
      const now = performance.now()
      for (const [id, { until }] of leases) if (until <= now) leases.delete(id)
      return Array.from(leases.values(), ({ lease }) => lease)
    },
  }
}

function nothing(): void {}
