/**
 * The periodic tasks of fast state on Redis: they repeat, report their failures, and end when it is closed.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { openRedisKv } from '#fast/redis.ts'
import { silentLog, silentMetrics } from '#fast/report.ts'
import { systemClock } from '#kernel/time.ts'
import type { StoreMark } from '#store/ports/meta.ts'
import { answer, minute, until } from './kv-stage.ts'
import { makeRedisServer } from './redis-server.ts'

async function setStage(context: TestContext, mark: StoreMark) {
  const server = await makeRedisServer()
  await server.start()
  context.after(() => server.close())
  const told: string[] = []
  const kv = await openRedisKv({
    url: server.url,
    clock: systemClock,
    secret: randomBytes(32),
    maxEntryBytes: 1024,
    mark,
    incarnationTiming: { lookEveryMs: 50, advanceEveryMs: 200 },
    report: {
      log: silentLog,
      metrics: silentMetrics,
      jobs: {
        done: (task) => void told.push(`${task} done`),
        failed: (task, error) => void told.push(`${task} failed: ${String(error)}`),
      },
    },
  })
  context.after(() => kv.close())
  return { server, kv, told }
}

const steady: StoreMark = { read: async () => 0, advance: async () => {} }

test('a process renews its heartbeat, and stops when it is closed', async (t) => {
  const { server, kv, told } = await setStage(t, steady)
  const names = async () => String(await server.call('KEYS', '*processes*'))
  assert.notEqual(await names(), '')
  await server.call('FLUSHALL')
  await until(async () => (await names()) !== '')
  await until(() => told.includes('kv-processes done'))
  await kv.close()
  assert.equal(await names(), '')
})

test('a heartbeat that Redis refuses is reported as failed background work', async (t) => {
  const { server, told } = await setStage(t, steady)
  await until(() => told.includes('kv-processes done'))
  await server.call('ACL', 'SETUSER', 'default', '-zadd')
  await until(() => told.some((line) => line.startsWith('kv-processes failed: ')))
})

test('a progress mark that cannot be read is reported each time, and earlier cached answers are still served', async (t) => {
  let isUnavailable = false
  const read = async () => {
    if (isUnavailable) throw new Error('the database is away')
    return 0
  }
  const { kv, told } = await setStage(t, { ...steady, read })
  await kv.cache.set('k', answer, minute)
  isUnavailable = true
  const line = 'kv-incarnation failed: Error: the database is away'
  await until(() => told.filter((one) => one === line).length >= 2)
  assert.equal((await kv.cache.get('k')).kind, 'hit')
  isUnavailable = false
  const { length } = told
  await until(() => told.indexOf('kv-incarnation done', length) >= 0)
})

test('fast state closes while the database leaves a question unanswered', async (t) => {
  let isHanging = false
  const asked = Promise.withResolvers<void>()
  const read = () => {
    if (!isHanging) return Promise.resolve(0)
    asked.resolve()
    return new Promise<number>(() => {})
  }
  const { kv } = await setStage(t, { ...steady, read })
  isHanging = true
  await asked.promise
  await kv.close()
  assert.deepEqual(await kv.cache.get('k'), { kind: 'unavailable' })
})
