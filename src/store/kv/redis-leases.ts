/**
 * Places in flight shared through Redis: a sorted set of leases by their expiry, by the server's own time. A lease lives
 * a minute and is renewed while it is held, so that the places of a process that died come back by themselves.
 */
import { randomUUID } from 'node:crypto'
import type { LeaseStore } from '../kv-port.ts'
import { type Acquired, freeLease, leasesTaken, type MemoryLeases } from './memory-leases.ts'
import type { RedisLink } from './redis-link.ts'
import type { Seal } from './redis-seal.ts'

export interface LeaseTiming {
  /** A lease that is not renewed for this long is gone. */
  readonly leaseMs: number
  readonly renewEveryMs: number
}

export const leaseTiming: LeaseTiming = { leaseMs: 60_000, renewEveryMs: 20_000 }

export interface RedisLeases extends LeaseStore {
  /** Ends the renewals and gives back what this process still holds. */
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

// Adds what is missing too: after a restart of Redis those in flight are counted again.
const renewLua = `${nowLua}
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
`

// No request lives nearly as long; a lease that its owner forgot must not be renewed for ever.
const maxRenewals = 15

interface Held {
  readonly name: string
  readonly id: string
  renewals: number
}

/** Shared places; `twin` counts while Redis is away, and a place taken there is given back there. */
export function makeRedisLeases(options: {
  readonly link: RedisLink
  readonly seal: Seal
  readonly twin: MemoryLeases
  readonly timing: LeaseTiming
}): RedisLeases {
  const { link, seal, twin, timing } = options
  const acquire = link.script('tributaryLeaseAcquire', acquireLua)
  const renew = link.script('tributaryLeaseRenew', renewLua)
  const held = new Set<Held>()

  const remove = (lease: Held) =>
    link.run('leases', async () => void (await link.client.zrem(lease.name, lease.id)), nothing)

  async function take(lease: Held, limit: number): Promise<Acquired> {
    try {
      const granted = await acquire(lease.name, lease.id, limit, timing.leaseMs)
      if (granted !== 1) return leasesTaken
    } catch (cause) {
      // It may have been granted after we stopped waiting: then it is given back, or expires by itself.
      void remove(lease)
      throw cause
    }
    held.add(lease)
    return { lease: { release: () => (held.delete(lease) ? remove(lease) : undefined) } }
  }

  const renewer = setInterval(() => {
    for (const lease of held) {
      lease.renewals += 1
      if (lease.renewals > maxRenewals) held.delete(lease)
      else void link.run('leases', () => renew(lease.name, lease.id, timing.leaseMs), nothing)
    }
  }, timing.renewEveryMs)
  renewer.unref()

  return {
    acquire(key, limit) {
      if (limit === 0) return freeLease
      const lease = { name: seal.name('lease', key), id: randomUUID(), renewals: 0 }
      return link.run(
        'leases',
        () => take(lease, limit),
        () => twin.acquire(key, limit),
      )
    },

    async close() {
      clearInterval(renewer)
      const rest = [...held]
      held.clear()
      await Promise.all(rest.map(remove))
    },
  }
}

function nothing(): void {}
