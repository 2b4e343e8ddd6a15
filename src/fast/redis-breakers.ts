/**
 * Breakers shared through Redis: the rule of memory-breakers.ts in Lua, by the server's clock, each call one
 * atomic step. A healthy connection has no key; an open breaker is a hash that expires when it may be
 * forgotten.
 */

import type { BreakerRule } from './breaker-rule.ts'
import type { MemoryBreakers } from './memory-breakers.ts'
import type { BreakerLook, BreakerState, BreakerStore } from './port.ts'
import type { RedisLink } from './redis-link.ts'
import { readPair } from './redis-reply.ts'
import type { Seal } from './redis-seal.ts'

const nowLua = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local open = tonumber(redis.call('HGET', KEYS[1], 'open'))
`

// Returns 0 closed, 1 open with the wait, 2 this request is the probe.
const checkLua = `${nowLua}
if not open then return {0, 0} end
local wait = math.max(open, tonumber(redis.call('HGET', KEYS[1], 'probe')) or 0)
if now < wait then return {1, wait - now} end
redis.call('HSET', KEYS[1], 'probe', now + ARGV[1])
return {2, 0}
`

// Returns 0 closed, 1 open with what is left of the cooldown, 2 half open.
const peekLua = `${nowLua}
if not open then return {0, 0} end
if now < open then return {1, open - now} end
return {2, 0}
`

// ARGV: 1 for the probe, failures that open it, their window, time open, time remembered after that.
const failLua = `${nowLua}
local function open_it()
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], 'open', now + ARGV[4])
  redis.call('PEXPIRE', KEYS[1], ARGV[4] + ARGV[5])
  return 1
end
if open then
  -- A request that started before the breaker opened proves nothing new; only the probe decides.
  if ARGV[1] == '1' then return open_it() end
  return 0
end
local recent = {}
for at in string.gmatch(redis.call('HGET', KEYS[1], 'failed') or '', '%d+') do
  if tonumber(at) > now - ARGV[3] then recent[#recent + 1] = at end
end
recent[#recent + 1] = string.format('%.0f', now)
if #recent >= tonumber(ARGV[2]) then return open_it() end
redis.call('HSET', KEYS[1], 'failed', table.concat(recent, ','))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 0
`

/** Shared breakers; `local` is used while Redis is unavailable. */
export function makeRedisBreakers(options: {
  readonly link: RedisLink
  readonly seal: Seal
  readonly local: MemoryBreakers
  readonly rule: BreakerRule
}): BreakerStore {
  const { link, seal, local, rule } = options
  const check = link.script(checkLua)
  const fail = link.script(failLua)
  const peek = link.script(peekLua)
  const name = (key: string) => seal.name('breaker', key)
  const failArguments = [rule.failures, rule.windowMs, rule.openMs, rule.forgetMs]

  return {
    check(key) {
      return link.run(
        'breakers',
        async () => readState(await check(name(key), rule.probeMs)),
        () => local.check(key),
      )
    },

    fail(key, probe) {
      return link.run(
        'breakers',
        async () => void (await fail(name(key), probe ? 1 : 0, ...failArguments)),
        () => local.fail(key, probe),
      )
    },

    succeed(key, probe) {
      if (!probe) return
      return link.run(
        'breakers',
        async () => void (await link.client.del(name(key))),
        () => local.succeed(key, probe),
      )
    },

    abandon(key) {
      return link.run(
        'breakers',
        async () => void (await link.client.hdel(name(key), 'probe')),
        () => local.abandon(key),
      )
    },

    peek(key) {
      return link.run(
        'breakers',
        async () => readLook(await peek(name(key))),
        () => local.peek(key),
      )
    },
  }
}

function readState(reply: unknown): BreakerState {
  const [kind, waitMs] = readPair(reply)
  if (kind === 0) return { kind: 'closed' }
  return kind === 2 ? { kind: 'probe' } : { kind: 'open', cooldownMs: waitMs }
}

function readLook(reply: unknown): BreakerLook {
  const [kind, cooldownMs] = readPair(reply)
  if (kind === 0) return { kind: 'closed' }
  return kind === 2 ? { kind: 'half_open' } : { kind: 'open', cooldownMs }
}
