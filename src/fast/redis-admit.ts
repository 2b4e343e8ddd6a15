/**
 * One request's window, places and cached answer in Redis, as one script and one round trip, in the order of
 * reading R3. Where cached answers are on another server, both are asked at the same time. While Redis is
 * unavailable the steps run in this process's memory.
 */

import { admitLocally, type LocalSteps, placeRetryMs } from './memory-admit.ts'
import { noLimit } from './memory-windows.ts'
import type {
  AdmitRequest,
  Admitted,
  CacheLookup,
  Kv,
  Lease,
  Maybe,
  Unsure,
  WindowState,
} from './port.ts'
import { lookLua, ownLua, type RedisCache } from './redis-cache.ts'
import type { Script } from './redis-client.ts'
import { editionLua, type RedisEditions } from './redis-editions.ts'
import { type RedisLeases, removeEndedLua, type Wanted } from './redis-leases.ts'
import type { RedisLink } from './redis-link.ts'
import { type LookReply, readReply, replies } from './redis-reply.ts'
import { countLua, newsLua, type RedisWindows } from './redis-windows.ts'
import type { KvMetrics } from './report.ts'

// KEYS: window, places, answer, edition; a name that is not needed stands for another one. ARGV: limit (0:
// none) and length of the window, number of places (0: no limit), what follows the count, the known version,
// the id of the lease and its life, the known edition and a new one, then the news of the window. What
// follows: `none`; `look` into the cache, and take a place on a miss; `take` a place; `check` whether one is
// free.
const admitLua = `${ownLua}
local count, left = 0, 0
local limit = tonumber(ARGV[1])
if limit > 0 then
  ${countLua("own(KEYS[1], 'GET')", 'ARGV[2]')}
  ${newsLua(10)}
  if count <= 0 or left <= 0 then
    count = 1
    left = tonumber(ARGV[2])
    redis.call('SET', KEYS[1], 1, 'PX', left)
  elseif count >= limit then
    return {${replies.refused}, count, left, foreign}
  else
    count = redis.call('INCR', KEYS[1])
  end
end
local next = ARGV[4]
if next == 'none' then return {${replies.counted}, count, left, foreign} end
if next == 'look' then
${editionLua('KEYS[4]', 'ARGV[8]', 'ARGV[9]')}
end
local places = tonumber(ARGV[3])
local now = 0
if places > 0 then
  if (own(KEYS[2], 'ZCARD') or 0) >= places then
    local time = redis.call('TIME')
    now = time[1] * 1000 + math.floor(time[2] / 1000)
    ${removeEndedLua('KEYS[2]', 'ARGV[7]')}
    if redis.call('ZCARD', KEYS[2]) >= places then return {${replies.full}, count, left, foreign} end
  end
end
if next == 'check' then return {${replies.counted}, count, left, foreign} end
if next == 'look' then
${lookLua('KEYS[3]', 'ARGV[5]')}
end
if places > 0 then
  if now == 0 then
    local time = redis.call('TIME')
    now = time[1] * 1000 + math.floor(time[2] / 1000)
  end
  redis.call('ZADD', KEYS[2], now + ARGV[7], ARGV[6])
  redis.call('PEXPIRE', KEYS[2], ARGV[7])
end
return {${replies.miss}, count, left, foreign}
`

export interface RedisAdmitOptions {
  /** The link to the server of limits. */
  readonly link: RedisLink
  /** The link to the server of cached answers; it counts as unavailable while their names are not known. */
  readonly cacheLink: RedisLink
  /** One server has both. */
  readonly isOne: boolean
  readonly windows: RedisWindows
  readonly leases: RedisLeases
  readonly cache: RedisCache
  readonly editions: RedisEditions
  readonly metrics: KvMetrics
}

interface Parts extends RedisAdmitOptions {
  readonly script: Script
  readonly here: LocalSteps
}

export function makeRedisAdmit(options: RedisAdmitOptions): Kv['admit'] {
  const { link, windows, leases, metrics } = options
  const here: LocalSteps = {
    take: windows.counts.take,
    isFull: leases.isFullHere,
    acquire(key, limit) {
      metrics.fellBack('leases')
      return leases.acquireHere(key, limit)
    },
    get() {
      metrics.fellBack('cache')
      return { kind: 'unavailable' }
    },
  }
  const parts: Parts = { ...options, script: link.scriptOfKeys(admitLua), here }
  return (admission) =>
    link.run(
      'windows',
      () => (parts.isOne ? admitAtOne(parts, admission) : admitAtTwo(parts, admission)),
      () => fallBack(parts, admission),
    )
}

/** Limits in this process; the cache, where it is on another server, may be available all the same. */
function fallBack(parts: Parts, admission: AdmitRequest): Maybe<Admitted> {
  const { answer: key, owner, edition } = admission
  if (parts.isOne || key === null) return admitLocally(parts.here, admission)
  const found = parts.cache.look(key, owner, edition)
  const admit = (late: CacheLookup | Unsure) =>
    admitLocally({ ...parts.here, get: () => late }, admission)
  return found instanceof Promise ? found.then(admit) : admit(found)
}

type Next = 'none' | 'look' | 'take' | 'check'

async function admitAtOne(parts: Parts, admission: AdmitRequest): Promise<Admitted> {
  const { cache, cacheLink, metrics } = parts
  const { answer: key, places, owner } = admission
  const isFound = key !== null && cacheLink.isUp()
  // Held from here on, whatever is evicted before the reply arrives.
  const kept = isFound ? cache.kept(key) : null
  const next = key === null ? 'none' : isFound ? 'look' : 'take'
  const wanted = places === null || key === null ? null : parts.leases.want(places.key)
  const reply = await send(parts, admission, { next, wanted, version: kept?.version ?? '' })
  const window = windowOf(parts, admission, reply)
  switch (reply.kind) {
    case replies.unsure:
      return { kind: 'unsure', window, edition: parts.editions.read(reply.items) }
    case replies.same:
    case replies.found: {
      const answer = key === null ? null : cache.read(key, kept, reply.items, owner)
      if (answer !== null) return { kind: 'hit', window, answer }
      return takePlace(parts, admission, window, 'miss')
    }
    case replies.miss: {
      if (!isFound) metrics.fellBack('cache')
      const lease = wanted === null ? null : parts.leases.hold(wanted)
      return { kind: isFound ? 'miss' : 'unavailable', window, lease }
    }
    default:
      return toEnd(reply, window)
  }
}

/** Only a miss takes a place, in another step: a hit needs none, and both servers are asked together. */
async function admitAtTwo(parts: Parts, admission: AdmitRequest): Promise<Admitted> {
  const { answer: key, owner, edition } = admission
  const next = key === null ? 'none' : 'check'
  const [reply, found] = await Promise.all([
    send(parts, admission, { next, wanted: null, version: '' }),
    key === null ? null : parts.cache.look(key, owner, edition),
  ])
  const window = windowOf(parts, admission, reply)
  if (reply.kind !== replies.counted || found === null) return toEnd(reply, window)
  if (found.kind === 'hit') return { kind: 'hit', window, answer: found.answer }
  if (found.kind === 'unsure') return { ...found, window }
  return takePlace(parts, admission, window, found.kind)
}

async function takePlace(
  { leases }: Parts,
  { places }: AdmitRequest,
  window: WindowState | null,
  kind: 'miss' | 'unavailable',
): Promise<Admitted> {
  if (places === null) return { kind, window, lease: null }
  const grant: { readonly lease: Lease | null; readonly retryMs?: number } = await leases.acquire(
    places.key,
    places.limit,
  )
  if (grant.lease !== null) return { kind, window, lease: grant.lease }
  return { kind: 'full', window, retryMs: grant.retryMs ?? placeRetryMs }
}

/** The replies without an answer and without a place. */
function toEnd({ kind }: LookReply, window: WindowState | null): Admitted {
  if (kind === replies.full) return { kind: 'full', window, retryMs: placeRetryMs }
  if (kind === replies.counted) return { kind: 'counted', window }
  if (kind !== replies.refused || window === null) {
    throw new Error('the reply of a script has another form')
  }
  return { kind: 'refused', window }
}

interface Sending {
  readonly next: Next
  readonly wanted: Wanted | null
  readonly version: string
}

async function send(
  parts: Parts,
  { window, places, answer, owner, edition }: AdmitRequest,
  { next, wanted, version }: Sending,
): Promise<LookReply> {
  const { windows, leases, cache, editions, metrics } = parts
  const { counts } = windows
  const isCounted = window !== null && window.limit > 0
  const news = isCounted ? counts.news(window.key) : []
  const windowName = isCounted ? counts.name(window.key) : null
  const answerName = next === 'look' && answer !== null ? cache.name(answer) : null
  const placesName = wanted?.name ?? (places === null ? null : leases.want(places.key).name)
  const some = windowName ?? placesName ?? answerName
  // Nothing to count, to limit or to look up.
  if (some === null)
    return {
      kind: next === 'take' ? replies.miss : replies.counted,
      count: 0,
      leftMs: 0,
      foreign: 0,
      items: [],
    }
  try {
    const reply = readReply(
      await parts.script.run(
        [
          windowName ?? some,
          placesName ?? some,
          answerName ?? some,
          answerName === null ? some : editions.name(owner),
        ],
        [
          isCounted ? String(window.limit) : '0',
          isCounted ? String(window.windowMs) : '0',
          places === null ? '0' : String(places.limit),
          next,
          version,
          wanted?.id ?? '',
          String(leases.leaseMs),
          editions.known(edition),
          editions.make(),
          ...news,
        ],
      ),
    )
    for (let count = 0; count < reply.foreign; count += 1) metrics.unreadable()
    return reply
  } catch (cause) {
    // The script may have run all the same, and is never repeated: one request too many may be counted.
    if (isCounted && news.length > 0) counts.keepNews(window.key)
    if (wanted !== null) leases.giveBack(wanted)
    throw cause
  }
}

function windowOf(
  { windows }: Parts,
  { window }: AdmitRequest,
  { kind, count, leftMs }: LookReply,
): WindowState | null {
  if (window === null) return null
  if (window.limit === 0) return noLimit
  const isAllowed = kind !== replies.refused
  return windows.counts.counted(window.key, window.limit, { isAllowed, count, leftMs })
}
