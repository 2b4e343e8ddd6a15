/**
 * Editions of users' rows in Redis (reading R10): after a change made by one process no other one takes
 * earlier rows for current, whatever happens to Redis and to the process that makes the change.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { openKv } from '#fast/open.ts'
import type { AdmitRequest, Admitted, Kv } from '#fast/port.ts'
import type { UserId } from '#kernel/ids.ts'
import { systemClock } from '#kernel/time.ts'
import { leaseOf, newAdmission, store, textOf } from '../contract/kv/admit-contract.ts'
import { makeCutLine } from './cut-line.ts'
import { isShared, openBeside, type Stage, setStage, timed, until } from './kv-stage.ts'
import { makeRedisServer } from './redis-server.ts'

/** A user with a stored answer; `editionOf` asks for it without knowing the edition, and returns that. */
async function setUser(t: TestContext) {
  const stage = await setStage(t)
  const other = await openBeside(t, stage)
  const asked = newAdmission()
  await store(stage.kv, asked, 'stored')
  return { ...stage, other, asked, users: new Set([asked.owner as UserId]) }
}

/** What a request with rows of this edition gets: a text, or `unsure`. */
async function ask(kv: Kv, asked: AdmitRequest, edition: string): Promise<Admitted> {
  const admitted = await kv.admit({ ...asked, window: null, edition })
  await leaseOf(admitted)?.release()
  return admitted
}

/** The edition that a process which knows none is told; null: a change is under way. */
async function editionOf(kv: Kv, asked: AdmitRequest): Promise<string | null> {
  const admitted = await ask(kv, asked, '')
  assert.ok(admitted.kind === 'unsure')
  return admitted.edition
}

async function knownEdition(kv: Kv, asked: AdmitRequest): Promise<string> {
  const edition = await editionOf(kv, asked)
  assert.ok(edition !== null)
  assert.equal(textOf(await ask(kv, asked, edition)), 'stored')
  return edition
}

const beginOf = ({ beginChange }: Kv) => beginChange ?? assert.fail('it has editions')

test('rows of an earlier edition are doubted from before the commit of a change on, and a new edition follows it', async (t) => {
  const { kv, other, asked, users } = await setUser(t)
  const before = await knownEdition(other, asked)
  const end = await beginOf(kv)(users)
  const during = await ask(other, asked, before)
  assert.deepEqual(during, { kind: 'unsure', window: null, edition: null })
  await end()
  assert.equal(textOf(await ask(other, asked, before)), 'unsure')
  assert.notEqual(await knownEdition(other, asked), before)
})

test('rows that were read for the request alone are not doubted, not even during a change', async (t) => {
  const { kv, other, asked, users } = await setUser(t)
  const end = await beginOf(kv)(users)
  assert.equal(textOf(await other.admit({ ...asked, window: null })), 'stored')
  await end()
})

test('a doubted request is counted once and takes no place; a refused one is not told an edition', async (t) => {
  const { kv } = await setStage(t)
  const asked = newAdmission()
  for (const remaining of [2, 1, 0]) {
    const { window, kind } = await kv.admit({ ...asked, edition: '' })
    assert.deepEqual([kind, window?.remaining], ['unsure', remaining])
  }
  assert.equal((await kv.admit({ ...asked, edition: '' })).kind, 'refused')
  const missed = await kv.admit({ ...asked, window: null })
  assert.equal(missed.kind, 'miss', 'the only place is free')
  await leaseOf(missed)?.release()
})

test('the end of one change leaves another one that is under way', async (t) => {
  const { kv, other, asked, users } = await setUser(t)
  const endFirst = await beginOf(kv)(users)
  const endSecond = await beginOf(other)(users)
  await endFirst()
  assert.equal(await editionOf(other, asked), null)
  await endSecond()
  await knownEdition(other, asked)
})

test('a change whose process died before its end is over after half a minute', async (t) => {
  const { server, kv, other, asked, users } = await setUser(t)
  const before = await knownEdition(other, asked)
  await beginOf(kv)(users)
  const [name = ''] = (await server.call('KEYS', 'tributary:edition:*')) as string[]
  const leftMs = Number(await server.call('PTTL', name))
  assert.ok(leftMs > 20_000 && leftMs <= 30_000, `${leftMs} ms`)
  await server.call('PEXPIRE', name, '1')
  await until(async () => (await editionOf(other, asked)) !== null)
  assert.notEqual(await knownEdition(other, asked), before)
})

test('a Redis that lost an edition, or has a foreign value in its place, gives a new one', async (t) => {
  const { server, other, asked } = await setUser(t)
  const before = await knownEdition(other, asked)
  const [name = ''] = (await server.call('KEYS', 'tributary:edition:*')) as string[]
  await server.call('DEL', name)
  const after = await knownEdition(other, asked)
  assert.notEqual(after, before)
  await server.call('DEL', name)
  await server.call('RPUSH', name, 'foreign')
  assert.notEqual(await knownEdition(other, asked), after)
})

test('a Redis that comes back as it was before a change is not believed', async (t) => {
  const { server, kv, other, asked, users } = await setUser(t)
  const before = await knownEdition(other, asked)
  const [name = ''] = (await server.call('KEYS', 'tributary:edition:*')) as string[]
  const value = String(await server.call('GET', name))
  const end = await beginOf(kv)(users)
  await end()
  await server.call('SET', name, value, 'PX', '60000')
  await server.call('CLIENT', 'KILL', 'TYPE', 'normal')
  await until(() => !isShared(other))
  await until(() => isShared(other))
  await until(async () => (await ask(other, asked, before)).kind !== 'unavailable')
  assert.equal(textOf(await ask(other, asked, before)), 'unsure')
})

test('a change that could not be noted in Redis ends when no process trusts rows as old, others end at once', async (t) => {
  const stage = await setStage(t)
  const line = await makeCutLine({
    host: '127.0.0.1',
    port: Number(new URL(stage.server.url).port),
  })
  t.after(() => line.close())
  const far = await openAt(t, stage, `redis://127.0.0.1:${line.port}`)
  const users = new Set([newAdmission().owner as UserId])
  const near = await timed(async () => (await beginOf(far)(users))())
  assert.ok(near.ms < 900, `${near.ms} ms`)
  // The text of the change is there, but its end is not known to be.
  const end = await beginOf(far)(users)
  await line.cut()
  const late = await timed(end)
  assert.ok(late.ms >= 1000 && late.ms < 5000, `${late.ms} ms`)
})

test('with a server of its own for the cache the edition is there, also while that of limits is away', async (t) => {
  const stage = await setStage(t)
  const limits = await makeRedisServer()
  await limits.start()
  t.after(() => limits.close())
  const kv = await openAt(t, stage, limits.url, stage.server.url)
  const asked = newAdmission()
  await store(kv, asked, 'stored')
  const before = await knownEdition(kv, asked)
  assert.deepEqual(await limits.call('KEYS', 'tributary:edition:*'), [])
  await limits.kill()
  await until(() => !isShared(kv))
  assert.equal(textOf(await ask(kv, asked, before)), 'stored')
  const end = await beginOf(stage.kv)(new Set([asked.owner as UserId]))
  await end()
  assert.equal(textOf(await ask(kv, asked, before)), 'unsure')
})

async function openAt(
  t: TestContext,
  { cacheKey = randomBytes(32) }: Partial<Stage>,
  redisUrl: string,
  redisCacheUrl: string | null = null,
): Promise<Kv> {
  const kv = await openKv({
    redisUrl,
    redisCacheUrl,
    clock: systemClock,
    cacheMaxBytes: 1024 * 1024,
    cacheMaxEntryBytes: 1024,
    cacheKey,
  })
  t.after(() => kv.close())
  return kv
}
