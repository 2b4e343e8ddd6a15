/**
 * Fast state on a Redis of a test's own, which the test may kill, hang, slow and fill.
 */
import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openKv } from '#fast/open.ts'
import type { Kv } from '#fast/port.ts'
import { systemClock } from '#kernel/time.ts'
import { makeRedisServer, type RedisServer } from './redis-server.ts'

export const minute = 60_000
export const answer = { body: Buffer.from('x'), truncated: false }

export interface Stage {
  readonly server: RedisServer
  readonly kv: Kv
  /** From which its names and values in Redis are derived. */
  readonly cacheKey: Uint8Array
  /** The log lines: `warn` when it became unavailable, `info` when it came into use. */
  readonly lines: string[]
  readonly fellBack: Set<string>
}

export async function setStage(context: TestContext, started = true): Promise<Stage> {
  const server = await makeRedisServer()
  if (started) await server.start()
  const lines: string[] = []
  const fellBack = new Set<string>()
  const cacheKey = randomBytes(32)
  const kv = await openKv({
    redisUrl: server.url,
    clock: systemClock,
    cacheMaxBytes: 1024 * 1024,
    cacheMaxEntryBytes: 1024,
    cacheKey,
    log: { info: () => lines.push('info'), warn: () => lines.push('warn') },
    metrics: {
      shared() {},
      fellBack: (concern) => fellBack.add(concern),
      unreadable() {},
    },
  })
  context.after(async () => {
    await kv.close()
    await server.close()
  })
  return { server, kv, cacheKey, lines, fellBack }
}

/** False while limits, leases and breakers use memory as the fallback. */
export function isShared(kv: Pick<Kv, 'connections'>): boolean {
  return kv.connections().some(({ name, isUp }) => name === 'limits' && isUp)
}

/** Another process on the Redis of the stage, with the same secret unless another one is given. */
export async function openBeside(
  context: TestContext,
  { server, cacheKey: own }: Stage,
  cacheKey = own,
): Promise<Kv> {
  const kv = await openKv({
    redisUrl: server.url,
    clock: systemClock,
    cacheMaxBytes: 1024 * 1024,
    cacheMaxEntryBytes: 1024,
    cacheKey,
  })
  context.after(() => kv.close())
  return kv
}

/** What it answered and how long it took. */
export async function timed<T>(run: () => T | Promise<T>): Promise<{ value: T; ms: number }> {
  const started = performance.now()
  const value = await run()
  return { value, ms: performance.now() - started }
}

/** Waits for it, ten seconds at most. */
export async function until(done: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 10_000
  while (!(await done())) {
    if (Date.now() > deadline) throw new Error('it did not come to pass within ten seconds')
    await sleep(20)
  }
}
