/**
 * Finished answers in Redis, encrypted, with their life as the expiry of the key. While Redis is unavailable
 * the cache answers `unavailable` instead of using local memory, because processes must not disagree about
 * what is fresh.
 */
import type { Clock } from '#kernel/time.ts'
import { ownerShare, readOwner } from './memory-cache.ts'
import type { CachedAnswer, CacheLookup, CacheStore, Maybe, OwnedPart, Unsure } from './port.ts'
import { editionLua, type RedisEditions } from './redis-editions.ts'
import { type KeptAnswer, makeKeptAnswers } from './redis-kept.ts'
import type { RedisLink } from './redis-link.ts'
import { readReply, replies } from './redis-reply.ts'
import { type Seal, versionLength, versionOf } from './redis-seal.ts'
import type { KvMetrics } from './report.ts'

export interface RedisCacheOptions {
  /** The clock of the answers that this process keeps. */
  readonly clock: Clock
  readonly link: RedisLink
  readonly seal: Seal
  readonly editions: RedisEditions
  readonly metrics: KvMetrics
  /** Bound of one body; Redis bounds the total by its own `maxmemory`. */
  readonly maxEntryBytes: number
  /** One user may have an eighth of it. */
  readonly maxBytes: number
}

/** The largest number of answers per user, whatever their size. */
const maxOwned = 1024

// Each user has a hash with the key, size and expiry of every answer, and the sum of the sizes. A user over
// the bound loses their own answers, the earliest to expire first, down to three quarters, so that trimming
// is rare. ARGV: answer, its life, the name of the hash, bytes and answers allowed per user, the part of the
// user's that it belongs to or an empty text.
const storeLua = `
local owner = ARGV[3]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local life = tonumber(ARGV[2])
local bytes = #ARGV[1] + 2 * #KEYS[1] + 200
-- 0 where the hash has a foreign text.
local function size_of(text) return tonumber(string.match(text, '^%d+')) or 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', life)
local before = redis.pcall('HGET', owner, KEYS[1])
if type(before) == 'table' then
  -- The key holds a foreign value that is not a hash; left alone, it would block every later write.
  redis.call('DEL', owner)
  before = false
end
local total = size_of(redis.call('HGET', owner, 'total') or '') + bytes
if before then total = total - size_of(before) end
redis.call('HSET', owner, KEYS[1], bytes .. ':' .. ARGV[6] .. ':' .. string.format('%.0f', now + life))
if total > tonumber(ARGV[4]) or redis.call('HLEN', owner) > tonumber(ARGV[5]) then
  local all = redis.call('HGETALL', owner)
  local kept = {}
  total = 0
  for at = 1, #all, 2 do
    if all[at] ~= 'total' then
      local ends = tonumber(string.match(all[at + 1], '%d+$')) or 0
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

// ARGV: the part, or an empty text for all parts and all that belongs to none.
const forgetLua = `
local all = redis.call('HGETALL', KEYS[1])
local total = 0
for at = 1, #all, 2 do
  if all[at] ~= 'total' then
    local bytes, part = string.match(all[at + 1], '^(%d+):(.*):%d+$')
    if ARGV[1] == '' or part == ARGV[1] then
      redis.call('DEL', all[at])
      redis.call('HDEL', KEYS[1], all[at])
    else
      total = total + (tonumber(bytes or string.match(all[at + 1], '^%d+')) or 0)
    end
  end
end
if total == 0 then redis.call('DEL', KEYS[1]) else redis.call('HSET', KEYS[1], 'total', total) end
return 1
`

/**
 * Reads the answer under a key unless it still is the one of this version, the script's last steps. `key` and
 * `known`: Lua expressions of the key and of the known version, which is empty when none is.
 */
export const lookLua = (key: string, known: string) => `
local version = own(${key}, 'GETRANGE', 0, ${versionLength - 1})
if version and version ~= '' then
  if version == ${known} then return {${replies.same}, count, left, foreign} end
  return {${replies.found}, count, left, foreign, redis.call('GET', ${key}), redis.call('PTTL', ${key})}
end
`

/** A command on a key whose value may be foreign: it is deleted and counted, and the reply is false. */
export const ownLua = `
local foreign = 0
local function own(key, command, ...)
  local reply = redis.pcall(command, key, ...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if not string.find(reply.err, 'WRONGTYPE', 1, true) then return redis.call(command, key, ...) end
  redis.call('DEL', key)
  foreign = foreign + 1
  return false
end
`

// KEYS: answer, edition. ARGV: the known version, the known edition, a new edition.
const getLua = `${ownLua}
local count, left = 0, 0
${editionLua('KEYS[2]', 'ARGV[2]', 'ARGV[3]')}
${lookLua('KEYS[1]', 'ARGV[1]')}
return {${replies.miss}, count, left, foreign}
`

/** The shared cache, and what another script that looks into it needs. */
export interface RedisCache extends CacheStore {
  name(key: string): string
  /** `get` for a caller whose rows have this edition; absent: for any. */
  look(key: string, owner: string, edition: string | undefined): Maybe<CacheLookup | Unsure>
  /** Its answer, held until the reply of the script is there, whatever is evicted meanwhile. */
  kept(key: string): KeptAnswer | null
  /** Reads the reply of `lookLua`; null: there is no answer that can be read. */
  read(
    key: string,
    kept: KeptAnswer | null,
    reply: readonly unknown[],
    owner?: string,
  ): CachedAnswer | null
  close(): void
}

/** Null: it does not open, or Redis would hold it past its life (a clock set back, an expiry removed). */
function openInLife(seal: Seal, key: string, sealed: Buffer, leftMs: number): KeptAnswer | null {
  const opened = seal.open(key, sealed)
  if (opened === null || leftMs < 0 || leftMs > opened.lifeMs) return null
  const { lifeMs: _lifeMs, ...answer } = opened
  return { ...answer, version: versionOf(sealed) }
}

/** Which edition of rows an answer is looked up for. */
interface Edition<Other> {
  readonly name: string
  readonly known: string
  readonly unsure: (reply: readonly unknown[]) => Other
}

/** Looks that are steps of their own. */
function makeLooks(
  { link, editions, metrics }: RedisCacheOptions,
  cache: Pick<RedisCache, 'name' | 'kept' | 'read'>,
): Pick<RedisCache, 'get' | 'look'> {
  const script = link.scriptOfKeys(getLua)
  const unavailable = (): CacheLookup => ({ kind: 'unavailable' })

  async function find<Other>(
    key: string,
    { name, known, unsure }: Edition<Other>,
  ): Promise<CacheLookup | Other> {
    const kept = cache.kept(key)
    const args = [kept?.version ?? '', known, editions.make()]
    const reply = readReply(await script.run([cache.name(key), name], args))
    if (reply.foreign > 0) metrics.unreadable()
    if (reply.kind === replies.unsure) return unsure(reply.items)
    if (reply.kind === replies.miss) return { kind: 'miss' }
    const answer = cache.read(key, kept, reply.items)
    return answer === null ? { kind: 'miss' } : { kind: 'hit', answer }
  }

  return {
    get(key) {
      const any = { name: cache.name(key), known: editions.known(undefined), unsure: unavailable }
      return link.run('cache', () => find(key, any), unavailable)
    },
    look(key, owner, edition) {
      const theirs: Edition<Unsure> = {
        name: editions.name(owner),
        known: editions.known(edition),
        unsure: (items) => ({ kind: 'unsure', edition: editions.read(items) }),
      }
      return link.run<CacheLookup | Unsure>('cache', () => find(key, theirs), unavailable)
    },
  }
}

export function makeRedisCache(options: RedisCacheOptions): RedisCache {
  const { link, seal, metrics, maxEntryBytes, maxBytes } = options
  const store = link.script(storeLua)
  const forget = link.script(forgetLua)
  const ownerBytes = Math.floor(maxBytes * ownerShare)
  const answers = makeKeptAnswers(options)
  const nameOf = (key: string) => seal.name('cache', key)
  const nameOwned = (owner: string) => seal.name('cached', `user:{${owner}}`)
  const namePart = (part: string | null) =>
    part === null ? '' : seal.name('cached', `part:${part}`)

  function read(
    key: string,
    kept: KeptAnswer | null,
    reply: readonly unknown[],
    owner?: string | OwnedPart,
  ): CachedAnswer | null {
    if (reply[0] === replies.same) return kept
    const [, , , , sealed, leftMs] = reply
    if (!Buffer.isBuffer(sealed) || typeof leftMs !== 'number') {
      throw new Error('the reply of a script has another form')
    }
    const opened = openInLife(seal, key, sealed, leftMs)
    if (opened !== null) return answers.keep(key, opened, leftMs, owner)
    metrics.unreadable()
    return null
  }

  const part = { name: nameOf, kept: answers.find, read }

  return {
    ...part,
    ...makeLooks(options, part),
    drop: answers.drop,
    close: answers.close,

    forget(owner, part) {
      answers.forget(owner, part)
      return link.run(
        'cache',
        () => forget(nameOwned(owner), namePart(part)).then(() => undefined),
        () => undefined,
      )
    },

    set(key, answer, ttlMs, owned) {
      const lifeMs = Math.floor(ttlMs)
      const { owner, part } = readOwner(owned)
      const most = part === null ? maxEntryBytes : ownerBytes
      if (answer.body.byteLength > most || lifeMs <= 0) return false
      return link.run(
        'cache',
        async () => {
          const sealed = seal.seal(key, { ...answer, lifeMs })
          const name = nameOf(key)
          if (owner === null) await link.client.set(name, sealed, 'PX', lifeMs)
          else {
            const bounds = [ownerBytes, maxOwned] as const
            await store(name, sealed, lifeMs, nameOwned(owner), ...bounds, namePart(part))
          }
          answers.keep(key, { ...answer, version: versionOf(sealed) }, lifeMs, owned)
          return true
        },
        () => false,
      )
    },
  }
}
