/**
 * A backup takes the place of the database while Redis keeps what was cached since: nothing cached before is
 * served again, under running processes and after a restart, on both stores. An upgrade has the same effect.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { openRedisKv, type RedisKvOptions } from '#fast/redis.ts'
import { silentJobs, silentLog, silentMetrics } from '#fast/report.ts'
import { systemClock } from '#kernel/time.ts'
import { openStore } from '#store/open-store.ts'
import type { StoreMark } from '#store/ports/meta.ts'
import { startFleet } from './fleet.ts'
import { answer, isShared, minute, until } from './kv-stage.ts'
import { makePostgresGround } from './postgres-place.ts'
import { makeRedisServer } from './redis-server.ts'

const run = promisify(execFile)
const timing = { lookEveryMs: 100, advanceEveryMs: 200 }
/** Long enough for the mark to have advanced, and for everybody to have looked. */
const settle = () => sleep(800)

async function setStage(context: TestContext) {
  const redis = await makeRedisServer()
  const folder = await mkdtemp(join(tmpdir(), 'tributary-restore-'))
  await redis.start()
  const secret = randomBytes(32)
  const closers: (() => Promise<unknown>)[] = []
  context.after(async () => {
    for (const close of closers.reverse()) await close()
    await redis.close()
    await rm(folder, { recursive: true, force: true })
  })
  const openCache = async (mark: StoreMark, changes: Partial<RedisKvOptions> = {}) => {
    const kv = await openRedisKv({
      url: redis.url,
      clock: systemClock,
      secret,
      maxEntryBytes: 1024,
      report: { log: silentLog, metrics: silentMetrics, jobs: silentJobs },
      incarnationTiming: timing,
      mark,
      ...changes,
    })
    closers.push(() => kv.close())
    return kv
  }
  return { redis, folder, openCache }
}

test('R10: an embedded store that was restored names nothing that was cached before', async (t) => {
  const { folder, openCache } = await setStage(t)
  const encryptionKeys = [randomBytes(32)]
  const [live, backup] = [join(folder, 'live'), join(folder, 'backup')]
  const serve = async (use: (kv: Awaited<ReturnType<typeof openCache>>) => Promise<void>) => {
    const store = await openStore({
      databaseUrl: null,
      dataDir: live,
      mode: 'live',
      encryptionKeys,
    })
    const kv = await openCache(store.mark)
    await use(kv)
    await kv.close()
    await store.close()
  }
  await serve(async (kv) => void (await kv.cache.set('before', answer, minute)))
  await cp(live, backup, { recursive: true })
  await serve(async (kv) => {
    assert.equal((await kv.cache.get('before')).kind, 'hit', 'a restart alone loses nothing')
    await settle()
    await kv.cache.set('since', answer, minute)
  })
  await serve(async (kv) => assert.equal((await kv.cache.get('since')).kind, 'hit'))
  await rm(live, { recursive: true })
  await cp(backup, live, { recursive: true })
  await serve(async (kv) => {
    assert.equal((await kv.cache.get('before')).kind, 'miss')
    assert.equal((await kv.cache.get('since')).kind, 'miss')
    await kv.cache.set('since', answer, minute)
  })
  await serve(async (kv) =>
    assert.equal((await kv.cache.get('since')).kind, 'hit', 'and only once'),
  )
})

test('R10: processes that were running during a restore agree within moments', async (t) => {
  const { redis, openCache } = await setStage(t)
  const ground = await makePostgresGround()
  const place = await ground.makePlace()
  const store = await place.open({})
  t.after(async () => {
    await store.close()
    await ground.remove()
  })
  const [one, two] = [await openCache(store.mark), await openCache(store.mark)]
  const backup = await place.ask("select value from meta where name = 'mark'")
  await settle()
  await one.cache.set('k', answer, minute)
  assert.equal((await two.cache.get('k')).kind, 'hit')
  await place.ask(`update meta set value = '${backup[0]?.value}' where name = 'mark'`)
  await settle()
  for (const kv of [one, two]) assert.equal((await kv.cache.get('k')).kind, 'miss')
  await one.cache.set('k', answer, minute)
  assert.equal((await two.cache.get('k')).kind, 'hit')

  // A Redis that restarts empty, or was unavailable meanwhile, starts no new incarnation either.
  await redis.kill()
  await redis.start()
  await until(() => isShared(one) && isShared(two))
  await settle()
  await one.cache.set('k', answer, minute)
  assert.equal((await two.cache.get('k')).kind, 'hit')
})

test('an answer of another version or contract is not served', async (t) => {
  const { openCache } = await setStage(t)
  const mark: StoreMark = { read: async () => 1, advance: async () => {} }
  const [old, same, next] = await Promise.all(
    ['0.1.0', '0.1.0', '0.2.0'].map((generation) => openCache(mark, { generation })),
  )
  await old?.cache.set('k', answer, minute)
  assert.equal((await same?.cache.get('k'))?.kind, 'hit')
  assert.equal((await next?.cache.get('k'))?.kind, 'miss')
})

test('R10: after pg_restore under two running processes no answer from before is served', async (t) => {
  const ground = await makePostgresGround()
  const { databaseUrl } = await ground.makePlace()
  const fleet = await startFleet({ databaseUrl })
  const folder = await mkdtemp(join(tmpdir(), 'tributary-restore-'))
  t.after(async () => {
    await fleet.close()
    await ground.remove()
    await rm(folder, { recursive: true, force: true })
  })
  const user = await fleet.createLinked()
  const ask = async (server: typeof fleet.one) => {
    const { status, headers } = await server.get(user.transactions(), user.key)
    return `${status} ${headers['x-cache']}`
  }
  await ask(fleet.one)
  assert.equal(await ask(fleet.two), '200 HIT')
  const file = join(folder, 'tributary.dump')
  await run('pg_dump', ['--format=custom', `--file=${file}`, databaseUrl])
  // The mark advances every ten seconds.
  await sleep(16_000)
  await fleet.one.admin('DELETE', `/connections/${user.connectionId}`)
  await run('pg_restore', ['--clean', '--if-exists', '--no-owner', `--dbname=${databaseUrl}`, file])
  await sleep(6000)
  assert.doesNotMatch(await ask(fleet.two), /HIT/)
})
