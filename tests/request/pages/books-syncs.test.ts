/**
 * The book of syncs: what the overview, the page of a connection and the admin API say of them is what the
 * runs in the store say, also at midnight, when clocks are changed, while one runs, and after the clock was
 * set back.
 */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { request } from 'undici'
import { type KeyId, newId } from '#kernel/ids.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import type { SyncOutcome } from '#store/ports/syncs.ts'
import { plantBank } from '#tests/support/bank.ts'
import type { Jar } from '#tests/support/jar.ts'
import { type Person, startPages } from './world.ts'

const world = await startPages()
after(() => world.close())

const start = Date.parse('2026-11-21T02:00:00Z')
beforeEach(() => world.service.clock.set(start))

type End = 'succeeded' | 'failed' | 'abandoned'
const succeeded = { newCount: 0, updatedCount: 0, chunks: 0, rowsReadAt: null, ledgerFrom: null }
const toOutcome = (kind: End): SyncOutcome =>
  kind === 'succeeded'
    ? { kind, ...succeeded }
    : kind === 'failed'
      ? { kind, code: 'unavailable', message: 'not shown' }
      : { kind }

/** Begins a run at the moment. */
async function beginRun({ id }: ConnectionRow) {
  const { app, clock } = world.service
  const options = { now: clock.now(), leaseMs: 60_000, reason: 'schedule' } as const
  const claimed = await app.store.syncs.claim(id, options)
  assert(claimed?.kind === 'claimed')
  return claimed.sync.runId
}

/** A run at the instant, which takes a second and is due again an hour later. */
async function addRun(row: ConnectionRow, at: string | number, kind: End): Promise<void> {
  const { app, clock } = world.service
  const now = clock.now()
  clock.set(typeof at === 'string' ? Date.parse(at) : at)
  const runId = await beginRun(row)
  clock.advance(1000)
  const endedAt = clock.now()
  const end = { outcome: toOutcome(kind), endedAt, nextDueAt: endedAt + 3_600_000 }
  assert.equal(await app.store.syncs.finish(runId, end), true)
  clock.set(now)
}

async function settle(timezone: string) {
  const person = await world.addPerson()
  await world.service.app.store.users.setTimezone(person.id, timezone)
  const user = { id: person.id, key: '', keyId: newId<KeyId>() }
  const { connection } = await plantBank(world.service, user, {})
  return { person, row: connection, jar: await world.enter(person) }
}

/** Day, succeeded, failed: the rows of the table behind the picture, newest first. */
async function readDays(jar: Jar, { id }: ConnectionRow): Promise<string[]> {
  const { text } = await jar.get(`/connections/${id}`)
  const table = /<table class="plain">.*?<\/table>/s.exec(text)?.[0] ?? ''
  const cells = /<tr><th scope="row">([^<]*)<\/th><td>(\d+)<\/td><td>(\d+)<\/td><\/tr>/g
  return [...table.matchAll(cells)].map(([, day, good, bad]) => `${day}: ${good}, ${bad}`)
}

/** What stands behind a term, as instants or words. */
const fact = (text: string, term: string) => {
  const cell = new RegExp(`<dt[^>]*>${term}</dt><dd[^>]*>(.*?)</dd>`, 's').exec(text)?.[1] ?? null
  return /datetime="([^"]*)"/.exec(cell ?? '')?.[1] ?? cell
}

const pictureOf = (text: string) => /aria-label="((?:Syncs|No sync)[^"]*)"/.exec(text)?.[1]

/**
 * Last success, last error and next sync on both pages, which agree with each other and with the admin API.
 */
async function readFacts(jar: Jar, person: Person, row: ConnectionRow) {
  const [home, page] = [(await jar.get('/')).text, (await jar.get(`/connections/${row.id}`)).text]
  const terms = ['Accounts', 'Last success', 'Last error', 'Next sync'] as const
  const read = (text: string) => terms.map((term) => fact(text, term))
  assert.deepEqual(read(home), read(page))
  assert.equal(pictureOf(home), pictureOf(page))
  const { adminUrl, adminToken } = world.service
  const answer = await request(`${adminUrl}/admin/users/${person.id}/connections`, {
    headers: { authorization: `Bearer ${adminToken}` },
  })
  const { data } = (await answer.body.json()) as { data: Record<string, unknown>[] }
  const [accounts, success, error, next] = read(page)
  const listed = data.find(({ id }) => id === row.id) ?? assert.fail('it is not listed')
  const isTime = (text: string | null | undefined) => (text?.endsWith('Z') === true ? text : null)
  assert.deepEqual(
    [listed.lastSuccessAt, listed.lastErrorAt, listed.nextSyncAt],
    [accounts, error, next].map(isTime),
  )
  assert.equal(listed.lastErrorCode, error === null ? null : 'unavailable')
  return { accounts, success, error, next, picture: pictureOf(home) }
}

test('days begin at midnight of the person, and runs on either side of it are told apart', async () => {
  const { row, jar } = await settle('Pacific/Auckland')
  // Midnight in Auckland is 11:00 UTC in November.
  await addRun(row, '2026-11-19T10:59:58Z', 'succeeded')
  await addRun(row, '2026-11-19T11:00:00Z', 'failed')
  await addRun(row, '2026-11-20T10:59:59.999Z', 'succeeded')
  await addRun(row, '2026-11-20T11:00:00Z', 'succeeded')
  await addRun(row, '2026-11-20T20:00:00Z', 'abandoned')
  assert.deepEqual(await readDays(jar, row), [
    '21 Nov 2026: 1, 0',
    '20 Nov 2026: 1, 1',
    '19 Nov 2026: 1, 0',
  ])
  const { text } = await jar.get('/')
  assert.equal(pictureOf(text), 'Syncs in the last 30 days: 3 succeeded, 1 failed on 1 day')
})

test('the picture has thirty days, today included: the first instant of the first is in it and the one before is not', async () => {
  const { row, jar } = await settle('Pacific/Auckland')
  await addRun(row, '2026-10-22T10:59:59.999Z', 'failed')
  await addRun(row, '2026-10-22T11:00:00Z', 'succeeded')
  assert.deepEqual(await readDays(jar, row), ['23 Oct 2026: 1, 0'])
})

test('a day of 25 hours and one of 23 hours take exactly their runs', async () => {
  world.service.clock.set(Date.parse('2026-04-10T00:00:00Z'))
  const autumn = await settle('Pacific/Auckland')
  // 5 April 2026 lasts from 11:00 UTC of the 4th to 12:00 UTC of the 5th.
  for (const at of ['2026-04-04T10:59:59Z', '2026-04-04T11:00:00Z', '2026-04-05T11:30:00Z']) {
    await addRun(autumn.row, at, 'succeeded')
  }
  await addRun(autumn.row, '2026-04-05T12:00:00Z', 'failed')
  assert.deepEqual(await readDays(autumn.jar, autumn.row), [
    '6 Apr 2026: 0, 1',
    '5 Apr 2026: 2, 0',
    '4 Apr 2026: 1, 0',
  ])
  // 6 September 2026 begins at one o'clock in Santiago, at 04:00 UTC, and has 23 hours.
  world.service.clock.set(Date.parse('2026-09-10T00:00:00Z'))
  const spring = await settle('America/Santiago')
  for (const at of ['2026-09-06T03:59:59Z', '2026-09-06T04:00:00Z', '2026-09-07T02:59:59Z']) {
    await addRun(spring.row, at, 'succeeded')
  }
  await addRun(spring.row, '2026-09-07T03:00:00Z', 'failed')
  assert.deepEqual(await readDays(spring.jar, spring.row), [
    '7 Sep 2026: 0, 1',
    '6 Sep 2026: 2, 0',
    '5 Sep 2026: 1, 0',
  ])
})

test('a failure is told with the last success and the next sync, a success takes it back, and a run in progress changes neither', async () => {
  const { person, row, jar } = await settle('UTC')
  const at = (minutes: number) => start - minutes * 60_000
  const iso = (ms: number) => new Date(ms).toISOString()
  await addRun(row, at(50), 'succeeded')
  await addRun(row, at(40), 'failed')
  await addRun(row, at(30), 'abandoned')
  const failing = await readFacts(jar, person, row)
  assert.deepEqual(
    [failing.accounts, failing.success, failing.error, failing.next],
    [at(50), at(50), at(40), at(30) + 3_600_000].map((ms) => iso(ms + 1000)),
  )
  const runId = await beginRun(row)
  const during = await readFacts(jar, person, row)
  assert.equal(during.next, 'in progress')
  assert.deepEqual([during.success, during.error], [failing.success, failing.error])
  assert.equal(during.picture, failing.picture)
  const end = { outcome: toOutcome('succeeded'), endedAt: start, nextDueAt: start + 3_600_000 }
  assert.equal(await world.service.app.store.syncs.finish(runId, end), true)
  const well = await readFacts(jar, person, row)
  assert.deepEqual([well.accounts, well.success, well.error], [iso(start), null, null])
  assert.equal(well.next, iso(start + 3_600_000))
  assert.equal(well.picture, 'Syncs in the last 30 days: 2 succeeded, 1 failed on 1 day')
})

test('after the clock was set back the state is that of the last run, whatever the hour at which it began', async () => {
  const { person, row, jar } = await settle('UTC')
  await addRun(row, start, 'succeeded')
  // Two hours back, and the next run fails.
  await addRun(row, start - 7_200_000, 'failed')
  const failing = await readFacts(jar, person, row)
  assert.equal(failing.error, new Date(start - 7_200_000 + 1000).toISOString())
  await addRun(row, start - 3_600_000, 'succeeded')
  assert.equal((await readFacts(jar, person, row)).error, null)
  // And the other way round: the failure began later by the clock, the success was the last.
  const other = await settle('UTC')
  await addRun(other.row, start, 'failed')
  await addRun(other.row, start - 7_200_000, 'succeeded')
  const well = await readFacts(other.jar, other.person, other.row)
  assert.deepEqual([well.error, well.success], [null, null])
})
