/**
 * Counts the processes that share a Redis: each adds its id to a set every few seconds and reads the size of
 * the set. The last count is kept while Redis is unavailable; a limit of all processes together is then
 * divided by it.
 */
import { randomUUID } from 'node:crypto'
import { type JobReport, startPeriodic } from '#jobs/periodic.ts'
import type { RedisLink } from './redis-link.ts'
import type { Seal } from './redis-seal.ts'

export interface ProcessesOptions {
  readonly link: RedisLink
  readonly seal: Seal
  readonly jobs: JobReport
}

export interface Processes {
  /** Includes this process. */
  count(): number
  /** Removes this process from the set. */
  close(): Promise<void>
}

const beatEveryMs = 3000
/** A process that has not renewed for this long has ended: time for three heartbeats, each delayed. */
const lifeMs = 10_000
/**
 * Used when Redis was never available: a share that is too small is safer than exceeding the limit in total.
 */
const whenUnknown = 4

const beatLua = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return redis.call('ZCARD', KEYS[1])
`

/** Starts the heartbeat; resolves when the count is known, or at once when Redis is unavailable. */
export async function openProcesses({ link, seal, jobs }: ProcessesOptions): Promise<Processes> {
  const beat = link.script(beatLua)
  const name = seal.name('processes', '')
  const id = randomUUID()
  let known: number | null = null

  /** Never rejects; returns the failure or null. The link judges by its failures whether Redis is up. */
  async function act(): Promise<Error | null> {
    let failure: Error | null = null
    const send = async () => {
      try {
        const reply = await beat(name, id, lifeMs)
        if (typeof reply === 'number') known = reply
      } catch (cause) {
        failure = new Error('this process could not be registered in Redis', { cause })
        throw cause
      }
    }
    await link.run('processes', send, () => undefined)
    return failure
  }
  link.onEnter(() => void act())
  if (link.isUp()) await act()
  const beating = startPeriodic(
    {
      name: 'kv-processes',
      everyMs: beatEveryMs,
      firstRun: 'after_wait',
      async run() {
        // The link itself reports that Redis is unavailable, so nothing is done until it is available again.
        const failure = link.isUp() ? await act() : null
        if (failure !== null) throw failure
      },
    },
    jobs,
  )

  return {
    count: () => known ?? whenUnknown,
    async close() {
      await beating.stop()
      const leave = async () => void (await link.client.zrem(name, id))
      if (link.isUp()) await link.run('processes', leave, () => undefined)
    },
  }
}
