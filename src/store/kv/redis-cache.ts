/**
 * Finished answers in Redis, encrypted, with their life as the expiry of the key. While Redis is unavailable the
 * cache answers `unavailable` instead of using local memory, because processes must not disagree about what is fresh.
 */
import type { CacheLookup, CacheStore } from '../ports/kv.ts'
import { ownerShare } from './memory-cache.ts'
import type { RedisLink } from './redis-link.ts'
import type { Seal } from './redis-seal.ts'
import type { KvMetrics } from './report.ts'

export interface RedisCacheOptions {
  readonly link: RedisLink
  readonly seal: Seal
  readonly metrics: KvMetrics
  /** Bound of one body; Redis bounds the total by its own `maxmemory`. */
  readonly maxEntryBytes: number
  /** One user may have an eighth of it. */
  readonly maxBytes: number
}

/** The largest number of answers per user, whatever their size. */
const maxOwned = 1024

// Each user has a hash with the key, size and expiry of every answer, and the sum of the sizes. A user over the
// bound loses their own answers, the earliest to expire first, down to three quarters, so that trimming is rare.
// ARGV: answer, its life, the name of the hash, bytes and answers allowed per user.
const storeLua = `
local owner = ARGV[3]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local life = tonumber(ARGV[2])
local bytes = #ARGV[1] + 2 * #KEYS[1] + 200
local function size_of(text) return tonumber(string.match(text, '^%d+')) end
redis.call('SET', KEYS[1], ARGV[1], 'PX', life)
local before = redis.pcall('HGET', owner, KEYS[1])
if type(before) == 'table' then
  -- The key holds a foreign value that is not a hash; left alone, it would block every later write.
  redis.call('DEL', owner)
  before = false
end
local total = (tonumber(redis.call('HGET', owner, 'total')) or 0) + bytes
if before then total = total - size_of(before) end
redis.call('HSET', owner, KEYS[1], bytes .. ':' .. string.format('%.0f', now + life))
if total > tonumber(ARGV[4]) or redis.call('HLEN', owner) > tonumber(ARGV[5]) then
  local all = redis.call('HGETALL', owner)
  local kept = {}
  total = 0
  for at = 1, #all, 2 do
    if all[at] ~= 'total' then
      local ends = tonumber(string.match(all[at + 1], '%d+$'))
      if ends <= now then
        redis.call('HDEL', owner, all[at])
      else
        kept[#kept + 1] = {all[at], size_of(all[at + 1]), ends}
        total = total + kept[#kept][2]
      end
    end
  end
  table.sort(kept, function(one, other) return one[3] < other[3] end)
  local left = #kept
  for _, entry in ipairs(kept) do
    if total <= ARGV[4] * 0.75 and left <= ARGV[5] * 0.75 then break end
    if entry[1] ~= KEYS[1] then
      redis.call('DEL', entry[1])
      redis.call('HDEL', owner, entry[1])
      total = total - entry[2]
      left = left - 1
    end
  end
end
redis.call('HSET', owner, 'total', total)
if redis.call('PTTL', owner) < life then redis.call('PEXPIRE', owner, life) end
return 1
`

/** The shared cache. */
export function makeRedisCache({
  link,
  seal,
  metrics,
  maxEntryBytes,
  maxBytes,
}: RedisCacheOptions): CacheStore {
  const store = link.script('tributaryCacheStore', storeLua)
  const ownerBytes = Math.floor(maxBytes * ownerShare)

  return {
    get(key) {
      return link.run<CacheLookup>(
        'cache',
        async () => {
          const sealed = await link.client.getBuffer(seal.name('cache', key))
          if (sealed === null) return { kind: 'miss' }
          const answer = seal.open(key, sealed)
          if (answer !== null) return { kind: 'hit', answer }
          metrics.unreadable()
          return { kind: 'miss' }
        },
        () => ({ kind: 'unavailable' }),
      )
    },

    set(key, answer, ttlMs, owner) {
      const lifeMs = Math.floor(ttlMs)
      if (answer.body.byteLength > maxEntryBytes || lifeMs <= 0) return false
      return link.run(
        'cache',
        async () => {
          const sealed = seal.seal(key, answer)
          const name = seal.name('cache', key)
          if (owner === undefined) await link.client.set(name, sealed, 'PX', lifeMs)
          else await store(name, sealed, lifeMs, seal.name('cached', owner), ownerBytes, maxOwned)
          return true
        },
        () => false,
      )
    },
  }
}
