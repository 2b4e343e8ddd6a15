/**
 * Rate windows shared through Redis: the rule of memory-windows.ts in Lua, by the server's clock, each call
 * one atomic step. A window is one number whose expiry is the end of the window.
 */

import { type MemoryWindows, noLimit, windowState } from './memory-windows.ts'
import type { Maybe, WindowKey, WindowState, WindowStore } from './port.ts'
import type { RedisLink } from './redis-link.ts'
import { readPair, readTriple } from './redis-reply.ts'
import type { Seal } from './redis-seal.ts'

// After an outage of Redis a process sends the count it knew, what it counted meanwhile, and the time left.
const readLua = (first: number, window?: string) => `
local count, left
${countLua("redis.call('GET', KEYS[1])", window)}
${newsLua(first)}`

/**
 * Sets `count` and `left` of the window under the first key. A window that ends later than its length allows
 * was started before the clock of Redis was set back: it counts as ended, so that nobody is refused until the
 * clock catches up. `text` and `window`: Lua expressions of the stored value and of the length.
 */
export const countLua = (text: string, window?: string) => `
count = tonumber(string.match(${text} or '', '^%d+$')) or 0
left = redis.call('PTTL', KEYS[1])
${window === undefined ? '' : `if left > tonumber(${window}) then left = 0 end`}
`

/** Adds them to `count` and `left`; `first`: their place among the arguments. */
export const newsLua = (first: number) => `
if ARGV[${first}] then
  local isLost = count <= 0 or left <= 0
  if isLost then left = tonumber(ARGV[${first + 2}]) end
  count = math.max(isLost and 0 or count, tonumber(ARGV[${first}])) + tonumber(ARGV[${first + 1}])
  if count > 0 then redis.call('SET', KEYS[1], count, 'PX', left) end
end
`

// Returns whether it is allowed, the count, and the milliseconds left. A count of 0: no window is running.
const takeLua = `${readLua(3, 'ARGV[2]')}
local limit = tonumber(ARGV[1])
local window = tonumber(ARGV[2])
if count <= 0 or left <= 0 then
  redis.call('SET', KEYS[1], 1, 'PX', window)
  return {1, 1, window}
end
if count >= limit then return {0, count, left} end
return {1, redis.call('INCR', KEYS[1]), left}
`

const reportLua = `${readLua(1)}
return count
`

// When every request was given back the key is deleted, and the next request starts a new window.
const giveBackLua = `
local count = tonumber(redis.call('GET', KEYS[1])) or 0
if count > 1 then return redis.call('DECR', KEYS[1]) end
return redis.call('DEL', KEYS[1])
`

const peekLua = `
return {tonumber(redis.call('GET', KEYS[1])) or 0, redis.call('PTTL', KEYS[1])}
`

export interface RedisWindowsOptions {
  readonly link: RedisLink
  readonly seal: Seal
  /**
   * Learns every count and continues from it while Redis is unavailable; Redis gets those counts afterwards.
   */
  readonly local: MemoryWindows
  /**
   * The number of processes among which the rest of a window is divided while Redis is unavailable; absent:
   * each has all of it. Our callers reach any process and must not be refused early; a provider's limit must
   * not be exceeded.
   */
  readonly shareOut?: () => number
}

export interface Counted {
  readonly isAllowed: boolean
  readonly count: number
  readonly leftMs: number
}

/** What another script that counts in a window needs of this file. */
export interface SharedCounts {
  name(key: WindowKey): string
  /** The counts that Redis missed while it was unavailable, once; empty: none. */
  news(key: WindowKey): readonly number[]
  /** They were not received after all. */
  keepNews(key: WindowKey): void
  /** Redis counted: returns the window's state, and continues from it while Redis is unavailable. */
  counted(key: WindowKey, limit: number, reply: Counted): WindowState
  /** Counts in this process. */
  take(key: WindowKey, limit: number, windowMs: number): WindowState
}

export interface RedisWindows extends WindowStore {
  readonly counts: SharedCounts
}

type Script = ReturnType<RedisLink['script']>

/** What the functions below share. */
interface Shared extends RedisWindowsOptions {
  readonly scripts: Readonly<Record<'take' | 'giveBack' | 'peek' | 'report', Script>>
  readonly name: (key: WindowKey) => string
  /**
   * Keys of the divided windows. They are few, and their counts are sent as soon as Redis is available again.
   */
  readonly sharedOut: Set<WindowKey>
  /** Grows each time Redis becomes available. */
  era: number
}

/** Rate windows shared by all processes. */
export function makeRedisWindows(options: RedisWindowsOptions): RedisWindows {
  const { link, seal, local } = options
  const shared: Shared = {
    ...options,
    scripts: {
      take: link.script(takeLua),
      giveBack: link.script(giveBackLua),
      peek: link.script(peekLua),
      report: link.script(reportLua),
    },
    name: (key) => seal.name('window', key),
    sharedOut: new Set(),
    era: 0,
  }
  link.onEnter(() => {
    shared.era += 1
    for (const key of shared.sharedOut) void reportCounts(shared, key)
  })
  return {
    counts: makeCounts(shared),
    take(key, limit, windowMs) {
      if (limit === 0) return noLimit
      if (shared.shareOut !== undefined) shared.sharedOut.add(key)
      return link.run(
        'windows',
        () => takeShared(shared, key, limit, windowMs),
        () => local.take(key, limitHere(shared, key, limit, windowMs), windowMs),
      )
    },
    giveBack(key, limit, windowMs) {
      if (limit === 0) return
      return link.run(
        'windows',
        async () => {
          await shared.scripts.giveBack(shared.name(key))
          // The local count must follow, in case Redis becomes unavailable next.
          local.gaveBack(key, limit, windowMs)
        },
        () => local.giveBack(key, limit, windowMs),
      )
    },
    peek(key, limit, windowMs) {
      if (limit === 0) return noLimit
      return link.run(
        'windows',
        () => peekShared(shared, key, limit, windowMs),
        () => local.peek(key, limitHere(shared, key, limit, windowMs), windowMs),
      )
    },
    forget(key) {
      local.forget(key)
      return link.run(
        'windows',
        async () => {
          await link.client.del(shared.name(key))
        },
        () => undefined,
      )
    },
  }
}

function makeCounts(shared: Shared): SharedCounts {
  const { local } = shared
  return {
    name: shared.name,
    news(key) {
      const recalled = local.recall(key, shared.era)
      if (recalled === null) return none
      return [recalled.known, recalled.spent, Math.ceil(recalled.leftMs)]
    },
    keepNews: local.unrecall,
    counted: (key, limit, reply) => counted(shared, key, limit, reply),
    take: local.take,
  }
}

function counted(
  { local, era }: Shared,
  key: WindowKey,
  limit: number,
  { isAllowed, count, leftMs }: Counted,
): WindowState {
  local.learn(key, { count, leftMs, limit, era })
  return { allowed: isAllowed, limit, remaining: Math.max(0, limit - count), resetMs: leftMs }
}

const none: readonly number[] = []

async function takeShared(
  shared: Shared,
  key: WindowKey,
  limit: number,
  windowMs: number,
): Promise<WindowState> {
  const reply = await withNews(shared, key, (news) =>
    shared.scripts.take(shared.name(key), limit, windowMs, ...news),
  )
  const [allowed, count, leftMs] = readTriple(reply)
  return counted(shared, key, limit, { isAllowed: allowed === 1, count, leftMs })
}

async function peekShared(
  { scripts, name }: Shared,
  key: WindowKey,
  limit: number,
  windowMs: number,
): Promise<WindowState> {
  const [count, left] = readPair(await scripts.peek(name(key)))
  return left > 0 && left <= windowMs
    ? windowState(limit, count, left)
    : windowState(limit, 0, windowMs)
}

/** The limit for this process while Redis is unavailable. */
function limitHere(
  { local, shareOut }: Shared,
  key: WindowKey,
  limit: number,
  windowMs: number,
): number {
  if (shareOut === undefined) return limit
  const known = Math.min(limit, local.known(key, windowMs))
  const share = Math.floor((limit - known) / shareOut())
  return Math.max(1, known + share)
}

function reportCounts(shared: Shared, key: WindowKey): Maybe<void> {
  const send = async (news: number[]) => {
    if (news.length > 0) await shared.scripts.report(shared.name(key), ...news)
  }
  return shared.link.run(
    'windows',
    async () => void (await withNews(shared, key, send)),
    () => undefined,
  )
}

/** Calls `send` with the counts that an unavailable Redis missed: once, and again if sending failed. */
async function withNews(
  { local, era }: Shared,
  key: WindowKey,
  send: (news: number[]) => Promise<unknown>,
): Promise<unknown> {
  const recalled = local.recall(key, era)
  const { known = 0, spent = 0, leftMs = 0 } = recalled ?? {}
  try {
    return await send(recalled === null ? [] : [known, spent, Math.ceil(leftMs)])
  } catch (cause) {
    if (recalled !== null) local.unrecall(key)
    throw cause
  }
}
