/**
 * Rate windows shared through Redis: the rule of memory-windows.ts as Lua, by the server's own time, each call one
 * atomic step. A window is one number whose expiry is the end of the window.
 */
import type { WindowState, WindowStore } from '../kv-port.ts'
import { type MemoryWindows, noLimit, windowState } from './memory-windows.ts'
import type { RedisLink } from './redis-link.ts'
import { readPair, readTriple } from './redis-reply.ts'
import type { Seal } from './redis-seal.ts'

// Answers whether it was allowed, the count, and the milliseconds left. A count of 0 is a window that has not begun.
const takeLua = `
local count = tonumber(redis.call('GET', KEYS[1])) or 0
local left = redis.call('PTTL', KEYS[1])
local limit = tonumber(ARGV[1])
local window = tonumber(ARGV[2])
if count <= 0 or left <= 0 then
  redis.call('SET', KEYS[1], 1, 'PX', window)
  return {1, 1, window}
end
if count >= limit then return {0, count, left} end
return {1, redis.call('INCR', KEYS[1]), left}
`

// A window whose every request was given back is gone: it begins with the first one counted.
const giveBackLua = `
local count = tonumber(redis.call('GET', KEYS[1])) or 0
if count > 1 then return redis.call('DECR', KEYS[1]) end
return redis.call('DEL', KEYS[1])
`

const peekLua = `
return {tonumber(redis.call('GET', KEYS[1])) or 0, redis.call('PTTL', KEYS[1])}
`

/** Shared windows; `twin` counts while Redis is away. Counts are not carried over in either direction. */
export function makeRedisWindows(link: RedisLink, seal: Seal, twin: MemoryWindows): WindowStore {
  const take = link.script('tributaryWindowTake', takeLua)
  const giveBack = link.script('tributaryWindowGiveBack', giveBackLua)
  const peek = link.script('tributaryWindowPeek', peekLua)
  const name = (key: string) => seal.name('window', key)

  return {
    take(key, limit, windowMs) {
      if (limit === 0) return noLimit
      return link.run(
        'windows',
        async () => {
          const [allowed, count, left] = readTriple(await take(name(key), limit, windowMs))
          return { ...windowState(limit, count, left), allowed: allowed === 1 }
        },
        () => twin.take(key, limit, windowMs),
      )
    },

    giveBack(key, limit, windowMs) {
      if (limit === 0) return
      return link.run(
        'windows',
        async () => {
          await giveBack(name(key))
        },
        () => twin.giveBack(key, limit, windowMs),
      )
    },

    peek(key, limit, windowMs) {
      if (limit === 0) return noLimit
      return link.run(
        'windows',
        async (): Promise<WindowState> => {
          const [count, left] = readPair(await peek(name(key)))
          return left > 0 ? windowState(limit, count, left) : windowState(limit, 0, windowMs)
        },
        () => twin.peek(key, limit, windowMs),
      )
    },
  }
}
